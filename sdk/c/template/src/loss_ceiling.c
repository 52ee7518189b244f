/**
 * @file
 * Stops a run whose loss stays too high.
 */
#include <host_sdk.h>

#include "strikes.h"

/** What stands in `[plugin.config]`; `settings.schema.json` says the same to the host. */
static struct {
    double ceiling;
    uint32_t patience;
} settings;

static struct state state;

static void start(host_config *config, const host_run *run, host_subscriptions *subscriptions) {
    host_config_require(config, "ceiling");
    settings.ceiling = host_config_number(config, "ceiling", 0);
    settings.patience = (uint32_t)host_config_whole(config, "patience", 3, UINT32_MAX);
    host_on(subscriptions, HOST_STEP_END, HOST_NAMES("loss"));
}

static void step_end(const host_event *event, host_answer *answer) {
    double loss;
    if (!host_event_get(event, "loss", &loss)) return;
    if (strike(&state, settings.ceiling, settings.patience, loss)) {
        host_answer_stop(answer, "the loss was above %g %lu times in a row: now %g", settings.ceiling,
                         (unsigned long)settings.patience, loss);
    }
}

static const char schema[] = {
#embed "../settings.schema.json"
};

const host_callback host_plugin = {
    .name = "loss-ceiling",
    .version = "0.1.0",
    .summary = "Stops a run whose loss stays too high.",
    .requests = HOST_MAY_STOP,
    .config_schema = schema,
    .config_schema_length = sizeof schema,
    .start = start,
    .state = &state,
    .state_size = sizeof state,
    .step_end = step_end,
};
