/**
 * @file
 * The component's exports: calls from the host to the one callback that a component has.
 * Frees what the host passed in; the generated code frees what is returned.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/** Whether `start` went well in this instance. */
static bool has_started;

void exports_train_host_callback_callback_describe(exports_train_host_callback_callback_manifest_t *manifest) {
    const host_callback *plugin = &host_plugin;
    size_t schema_length = plugin->config_schema_length;
    if (schema_length == 0 && plugin->config_schema != NULL) schema_length = strlen(plugin->config_schema);
    plugin_string_t schema = {NULL, schema_length};
    if (schema_length > 0) schema.ptr = memcpy(host_allocate(schema_length), plugin->config_schema, schema_length);
    *manifest = (exports_train_host_callback_callback_manifest_t){
        .name = host_copy(plugin->name),
        .version = host_copy(plugin->version),
        .summary = host_copy(plugin->summary),
        .requests = (train_host_callback_types_requests_t)plugin->requests,
        .knobs = host_copy_all(plugin->knobs),
        .lane = plugin->background ? TRAIN_HOST_CALLBACK_TYPES_LANE_BACKGROUND : TRAIN_HOST_CALLBACK_TYPES_LANE_INLINE,
        .order = plugin->order,
        .config_schema = schema,
        .state_version = plugin->state_version == 0 ? 1 : plugin->state_version,
    };
}

bool exports_train_host_callback_callback_start(plugin_string_t *json,
                                                exports_train_host_callback_callback_run_info_t *info,
                                                exports_train_host_callback_callback_list_subscription_t *result,
                                                plugin_string_t *error) {
    host_config config = {0};
    host_subscriptions subscriptions = {0};
    char *text = host_ended(*json);
    // These live as long as the instance, so that a callback may keep pointers to them.
    host_run run = {
        .name = host_ended(info->run),
        .seed = info->seed,
        .rank = info->rank,
        .world_size = info->world_size,
        .step = info->step,
        .description = host_ended(info->description),
    };
    host_config_open(&config, text);
    if (config.error == NULL && host_plugin.start != NULL) host_plugin.start(&config, &run, &subscriptions);
    host_config_close(&config);
    free(text);
    if (config.error != NULL) {
        *error = host_copy(config.error);
        return false;
    }
    has_started = true;
    result->ptr = subscriptions.list;
    result->len = subscriptions.count;
    return true;
}

/** Calls the function of the event's hook. */
static void dispatch(const host_event *event, host_answer *answer) {
    const host_callback *plugin = &host_plugin;
    host_handler *handler = plugin->handle;
    if (handler == NULL) {
        switch (event->hook) {
        case HOST_TRAIN_BEGIN: handler = plugin->train_begin; break;
        case HOST_EPOCH_BEGIN: handler = plugin->epoch_begin; break;
        case HOST_STEP_BEGIN: handler = plugin->step_begin; break;
        case HOST_GRADIENTS: handler = plugin->gradients; break;
        case HOST_STEP_END: handler = plugin->step_end; break;
        case HOST_EVALUATE_BEGIN: handler = plugin->evaluate_begin; break;
        case HOST_EVALUATE_END: handler = plugin->evaluate_end; break;
        case HOST_LOG: handler = plugin->log; break;
        case HOST_SAVE_BEGIN: handler = plugin->save_begin; break;
        case HOST_SAVE_END: handler = plugin->save_end; break;
        case HOST_EPOCH_END: handler = plugin->epoch_end; break;
        case HOST_FAILURE: handler = plugin->failure; break;
        case HOST_TRAIN_END: handler = plugin->train_end; break;
        }
    }
    if (handler != NULL) handler(event, answer);
}

/** Whether the instance may be called, with the error otherwise. */
static bool is_ready(plugin_string_t *error) {
    if (!has_started) *error = host_copy("called before start");
    return has_started;
}

bool exports_train_host_callback_callback_handle(exports_train_host_callback_callback_event_t *from,
                                                 exports_train_host_callback_callback_list_decision_t *result,
                                                 plugin_string_t *error) {
    if (!is_ready(error)) return false;
    struct host_event_rest rest;
    host_event event = host_event_open(from, &rest);
    host_answer answer = {0};
    dispatch(&event, &answer);
    host_event_close(&rest);
    exports_train_host_callback_callback_event_free(from);
    result->ptr = answer.decisions;
    result->len = answer.count;
    if (!answer.has_failed) return true;
    exports_train_host_callback_callback_list_decision_free(result);
    *error = answer.error;
    return false;
}

bool exports_train_host_callback_callback_save(plugin_list_u8_t *state, plugin_string_t *error) {
    if (!is_ready(error)) return false;
    state->len = host_plugin.state_size;
    state->ptr = NULL;
    if (state->len > 0) state->ptr = memcpy(host_allocate(state->len), host_plugin.state, state->len);
    return true;
}

/** Says why state can't be taken back. */
static bool refuse(plugin_string_t *error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    *error = host_words(format, arguments);
    va_end(arguments);
    return false;
}

bool exports_train_host_callback_callback_load(plugin_list_u8_t *state, uint32_t version, plugin_string_t *error) {
    if (!is_ready(error)) return false;
    uint32_t current = host_plugin.state_version == 0 ? 1 : host_plugin.state_version;
    size_t size = host_plugin.state_size;
    bool is_taken = true;
    if (version == current && state->len == size) {
        if (size > 0) memcpy(host_plugin.state, state->ptr, size);
    } else if (state->len > 0 && host_plugin.migrate == NULL) {
        is_taken = refuse(error, "state of version %u with %zu bytes was saved, and this version of the plugin reads "
                                 "version %u with %zu bytes", (unsigned)version, state->len, (unsigned)current, size);
    } else if (state->len > 0 && !host_plugin.migrate(state->ptr, state->len, version)) {
        is_taken = refuse(error, "state of version %u does not read", (unsigned)version);
    }
    plugin_list_u8_free(state);
    return is_taken;
}
