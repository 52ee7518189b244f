/**
 * @file
 * Write a callback that steers a training run, in C++20: a class, and a method for each hook that it wants.
 * A thin layer over the SDK for C, which does the work; does not decide what a callback may do, as the host checks every
 * answer.
 *
 * A callback is made from its settings when it joins a run. What it learns on the way is its member `state`, which is
 * saved in checkpoints. At a hook it is shown an `Event` with the measurements that it subscribed to, and fills in an
 * `Answer` with decisions. Words are given in pieces, of text and numbers: `answer.stop("the loss is ", loss)`.
 */
#ifndef HOST_SDK_HPP
#define HOST_SDK_HPP

#include <concepts>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "host_sdk.h"

namespace host {

/** Text of pieces: strings as they are, numbers as the shortest decimal text that reads back the same. */
template <typename... Pieces> std::string words(const Pieces &...pieces) {
    std::string text;
    auto add = [&text](const auto &piece) {
        if constexpr (std::is_convertible_v<decltype(piece), std::string_view>) {
            text += std::string_view(piece);
        } else if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(piece)>>) {
            char digits[HOST_NUMBER_BYTES];
            text += host_number_text(piece, digits);
        } else {
            text += std::to_string(piece);
        }
    };
    (add(pieces), ...);
    return text;
}

/** A moment in the training loop, in the order in which a run meets them. A method for it has the same name. */
enum class Hook {
    train_begin = HOST_TRAIN_BEGIN,       /**< Once in the life of a run, before its first step. */
    epoch_begin = HOST_EPOCH_BEGIN,       /**< Before the first step of an epoch. */
    step_begin = HOST_STEP_BEGIN,         /**< Before the batch is fetched. A skip drops the batch. */
    gradients = HOST_GRADIENTS,           /**< Not yet clipped or applied. A skip drops the update. */
    step_end = HOST_STEP_END,             /**< The optimizer has been applied, or the update was dropped. */
    evaluate_begin = HOST_EVALUATE_BEGIN, /**< A skip drops this evaluation. */
    evaluate_end = HOST_EVALUATE_END,     /**< An evaluation is complete, and was not cut short. */
    log = HOST_LOG,                       /**< A log record is about to be written. */
    save_begin = HOST_SAVE_BEGIN,         /**< A skip drops this save. */
    save_end = HOST_SAVE_END,             /**< The checkpoint is durable on disk. */
    epoch_end = HOST_EPOCH_END,           /**< After the last step, evaluation and save of an epoch. */
    failure = HOST_FAILURE,               /**< The loop failed; `Event::detail` says how. */
    train_end = HOST_TRAIN_END,           /**< The run ends; `Event::detail` says why. */
};

/** How far the run is; `step`, `epoch`, `samples`, `tokens` and the rest are described in `host_sdk.h`. */
using Progress = host_progress;

/** What a callback is shown at a hook. Everything in it lasts until the hook returns. */
class Event {
public:
    explicit Event(const host_event &event) : event(event) {}

    /** The moment. */
    Hook hook() const { return static_cast<Hook>(event.hook); }
    /** How far the run is. */
    const Progress &progress() const { return event.progress; }
    /** Steps finished: 0 at `step_begin` of the first one, 1 at its `step_end`. */
    std::uint64_t step() const { return event.progress.step; }

    /** The measurement of this name, if it is one number, was subscribed to and is known now. It can be NaN. */
    std::optional<double> get(std::string_view name) const {
        std::size_t place = host_event_find(&event, name.data(), name.size());
        if (place == SIZE_MAX) return std::nullopt;
        return event.values[place];
    }

    /** All single numbers, in the order of subscriptions; `name` says what each is called. */
    std::span<const double> values() const { return {event.values, event.count}; }
    /** What `values()[index]` is called. Lasts as long as the instance. */
    std::string_view name(std::size_t index) const { return host_event_name(&event, index); }

    /** The measurement of this name, if it is several numbers. Asked of the host once. */
    std::optional<std::span<const float>> vector(std::string_view name) const {
        std::size_t count;
        const float *values = host_event_vector(&event, std::string(name).c_str(), &count);
        if (values == nullptr) return std::nullopt;
        return std::span(values, count);
    }

    /** The measurement of this name, if it is words. Asked of the host once. */
    std::optional<std::string_view> text(std::string_view name) const {
        std::size_t length;
        const char *words = host_event_text(&event, std::string(name).c_str(), &length);
        if (words == nullptr) return std::nullopt;
        return std::string_view(words, length);
    }

    /** Why: the stop reason at `train_end`, the error at `failure`, the tag at `save_begin` and `save_end`. */
    std::string_view detail() const { return host_event_detail(&event); }

    /** The names of all measurements that are several numbers, or words. */
    std::span<const char *const> vector_names() const { return all(host_event_vectors); }
    std::span<const char *const> text_names() const { return all(host_event_texts); }

private:
    const host_event &event;

    std::span<const char *const> all(const char *const *ask(const host_event *, std::size_t *)) const {
        std::size_t count;
        const char *const *names = ask(&event, &count);
        return {names, count};
    }
};

/** Whether `name` fits `pattern`, in which `*` stands for any characters, also none. */
inline bool matches(std::string_view pattern, std::string_view name) {
    return host_matches(std::string(pattern).c_str(), std::string(name).c_str());
}

/** The decisions of one call, in order. An empty answer is "go on". Methods can be chained. */
class Answer {
public:
    explicit Answer(host_answer &answer) : answer(answer) {}

    /** End the run after this event, cleanly. The words are the reason that people read. */
    template <typename... Pieces> Answer &stop(const Pieces &...why) { return decide(HOST_DECIDE_STOP, words(why...)); }
    /** Go on with the next epoch. */
    template <typename... Pieces> Answer &end_epoch(const Pieces &...why) {
        return decide(HOST_DECIDE_END_EPOCH, words(why...));
    }
    /** Evaluate at the next safe point. */
    Answer &evaluate() { return decide(HOST_DECIDE_EVALUATE, ""); }
    /** Save a checkpoint, and point `tag` to it; lower-case letters, digits, `-`; empty for none. */
    Answer &save(std::string_view tag) { return decide(HOST_DECIDE_SAVE, tag); }
    /** Write a log record at the next safe point. */
    Answer &log() { return decide(HOST_DECIDE_LOG, ""); }
    /** Drop what this hook announces. */
    template <typename... Pieces> Answer &skip(const Pieces &...why) { return decide(HOST_DECIDE_SKIP, words(why...)); }
    /** Put weights and optimizer state back to the checkpoint that `tag` points to. */
    Answer &restore(std::string_view tag) { return decide(HOST_DECIDE_RESTORE, tag); }
    /** Give a knob a value. A name such as `learning-rate` addresses all of `learning-rate/<group>`. */
    Answer &set(std::string_view knob, double value) { return decide(HOST_DECIDE_SET, knob, value); }
    /** Multiply a knob by a factor. */
    Answer &scale(std::string_view knob, double factor) { return decide(HOST_DECIDE_SCALE, knob, factor); }
    /** Publish a measurement of the callback's own, which others see as `<instance>/<name>`. */
    Answer &report(std::string_view name, double value) { return decide(HOST_DECIDE_REPORT, name, value); }
    /** At `log`: leave a name (`*` allowed) out of the record. */
    Answer &mute(std::string_view name) { return decide(HOST_DECIDE_MUTE, name); }
    /** Leave a line in the run's timeline. */
    template <typename... Pieces> Answer &note(const Pieces &...line) { return decide(HOST_DECIDE_NOTE, words(line...)); }
    /** Give up on the event: its decisions are dropped, and the callback is made anew with its last good state. */
    template <typename... Pieces> void fail(const Pieces &...why) {
        host_answer_fail(&answer, "%s", words(why...).c_str());
    }

private:
    host_answer &answer;

    Answer &decide(host_decision kind, std::string_view words, double value = 0) {
        host_answer_decide(&answer, kind, words.data(), words.size(), value);
        return *this;
    }
};

/** Lines in the host's log. */
namespace log {
/** A line of use while the callback is being written. */
template <typename... Pieces> void debug(const Pieces &...line) { host_log_debug("%s", words(line...).c_str()); }
/** A line of use to whoever watches the run. */
template <typename... Pieces> void info(const Pieces &...line) { host_log_info("%s", words(line...).c_str()); }
/** The run goes on, perhaps not as wanted. */
template <typename... Pieces> void warn(const Pieces &...line) { host_log_warn("%s", words(line...).c_str()); }
/** Something failed. The last such line is the message of a call that traps after it. */
template <typename... Pieces> void error(const Pieces &...line) { host_log_error("%s", words(line...).c_str()); }
} // namespace log

/**
 * As `Event::get`, and the first time that it is missing says so in the log and the timeline: for a name from the
 * settings, which the run may offer and yet not know at this hook. `told` is part of the callback's state.
 */
inline std::optional<double> get_or_tell(const Event &event, std::string_view name, bool &told, Answer &answer) {
    std::optional<double> value = event.get(name);
    if (!value && !told) {
        log::warn(name, " is not known here, so nothing was checked");
        answer.note(name, " is not known here, so nothing was checked");
        told = true;
    }
    return value;
}

/**
 * The configuration, while the callback is made. The first mistake is kept, and shown with the key's name when the
 * constructor is done; so no call has to be checked. A key that was never asked for is a mistake too.
 */
class Settings {
public:
    explicit Settings(host_config &config) : config(config) {}

    /** Whether the key has a value. */
    bool has(const char *key) const { return host_config_has(&config, key); }

    /** A value, or the fallback where there is none: `bool`, `double`, an unsigned integer, `std::string`. */
    template <typename Value> Value get(const char *key, Value fallback) const {
        if constexpr (std::same_as<Value, bool>) {
            return host_config_boolean(&config, key, fallback);
        } else if constexpr (std::floating_point<Value>) {
            return static_cast<Value>(host_config_number(&config, key, fallback));
        } else if constexpr (std::unsigned_integral<Value>) {
            std::uint64_t most = std::numeric_limits<Value>::max();
            if (most > HOST_MAX_WHOLE) most = HOST_MAX_WHOLE;
            return static_cast<Value>(host_config_whole(&config, key, fallback, most));
        } else {
            static_assert(std::same_as<Value, std::string>, "settings are bool, double, unsigned or std::string");
            return host_config_text(&config, key, fallback.c_str());
        }
    }

    /** A value that has to be there: `ceiling is missing`. */
    template <typename Value> Value require(const char *key) const {
        host_config_require(&config, key);
        return get(key, Value{});
    }

    /** A value that there may be. */
    template <typename Value> std::optional<Value> optional(const char *key) const {
        if (!has(key)) return std::nullopt;
        return get(key, Value{});
    }

    /** One of several words, as the enumerator in its place; they count from 0. `words` ends with `nullptr`. */
    template <typename Enum> Enum choice(const char *key, const char *const *words, Enum fallback) const {
        return static_cast<Enum>(host_config_choice(&config, key, words, static_cast<std::size_t>(fallback)));
    }

    /** The JSON of a list or a table. Lasts as long as the instance. */
    std::optional<std::string_view> json(const char *key) const {
        const char *text = host_config_json(&config, key);
        return text == nullptr ? std::nullopt : std::optional<std::string_view>(text);
    }

    /** Says what is wrong with the settings, for what the methods above can't know. Name the key in the words. */
    template <typename... Pieces> void refuse(const Pieces &...why) {
        host_config_refuse(&config, "%s", words(why...).c_str());
    }

private:
    host_config &config;
};

/** The run that a callback joins; its members are described in `host_sdk.h`. It lasts as long as the instance. */
using Run = host_run;

/** When the callback is called, and what it is shown then. A hook that is not subscribed to is never called. */
class Subscriptions {
public:
    explicit Subscriptions(host_subscriptions &subscriptions) : subscriptions(subscriptions) {}

    /** Call at each occurrence of the hook. `reads` names measurements, `*` allowed. */
    void on(Hook hook, std::initializer_list<std::string_view> reads = {}) { every(1, hook, reads); }
    void on(Hook hook, std::span<const std::string> reads) { every(1, hook, reads); }

    /** Call at every n-th occurrence of the hook, counted from the beginning of the run. The host refuses 0. */
    void every(std::uint32_t n, Hook hook, std::initializer_list<std::string_view> reads = {}) {
        every(n, hook, std::vector<std::string>(reads.begin(), reads.end()));
    }
    void every(std::uint32_t n, Hook hook, std::span<const std::string> reads) {
        std::vector<const char *> names;
        for (const std::string &name : reads) names.push_back(name.c_str());
        names.push_back(nullptr);
        host_every(&subscriptions, n, static_cast<host_hook>(hook), names.data());
    }

private:
    host_subscriptions &subscriptions;
};

/** What a plugin is, whatever its configuration. What it asks here is the most that it can ever get. */
struct Manifest {
    const char *name;                    /**< Lower-case letters, digits and `-`. */
    const char *version;                 /**< Semantic version. */
    const char *summary;                 /**< One sentence on what it does. */
    unsigned requests = 0;               /**< `HOST_MAY_STOP | HOST_MAY_SAVE`; writes to knobs go by their names. */
    const char *const *knobs = nullptr;  /**< Knobs that it may want to write, `*` allowed; ends with `nullptr`. */
    bool background = false;             /**< Handle events on another thread: only reports and notes are taken. */
    std::int32_t order = 0;              /**< Lower runs earlier. */
    std::string_view config_schema = {}; /**< JSON Schema of the settings; empty for none. */
    std::uint32_t state_version = 1;     /**< Raise it when the type of `state` changes. */
};

/** The one instance of a callback; for `HOST_EXPORT`. */
template <typename Callback> class Exported {
public:
    static host_callback plugin() {
        constexpr Manifest manifest = Callback::manifest;
        host_callback plugin = {};
        plugin.name = manifest.name;
        plugin.version = manifest.version;
        plugin.summary = manifest.summary;
        plugin.requests = manifest.requests;
        plugin.knobs = manifest.knobs;
        plugin.background = manifest.background;
        plugin.order = manifest.order;
        plugin.config_schema = manifest.config_schema.data();
        plugin.config_schema_length = manifest.config_schema.size();
        plugin.state_version = manifest.state_version;
        plugin.start = start;
        plugin.handle = handle;
        if constexpr (requires { callback.state; }) {
            using State = decltype(Callback::state);
            static_assert(std::is_trivially_copyable_v<State>, "the state is saved byte by byte");
            plugin.state = &callback.state;
            plugin.state_size = sizeof(State);
        }
        if constexpr (requires(std::span<const std::byte> saved) { { callback.migrate(saved, 1U) } -> std::same_as<bool>; }) {
            plugin.migrate = migrate;
        }
        return plugin;
    }

private:
    /** Room for the callback, which `start` makes. It is never destroyed: the host drops the whole instance. */
    union Place {
        char empty = 0;
        Callback callback;
        constexpr Place() {}
        ~Place() {}
    };
    static inline Place place;
    static inline Callback &callback = place.callback;

    static void start(host_config *config, const host_run *run, host_subscriptions *subscriptions) {
        Settings settings(*config);
        Subscriptions subscribe(*subscriptions);
        new (&place.callback) Callback(settings, *run, subscribe);
    }

    static bool migrate(const void *bytes, std::size_t length, std::uint32_t version) {
        return callback.migrate(std::span(static_cast<const std::byte *>(bytes), length), version);
    }

    static void handle(const host_event *from, host_answer *to) {
        Event event(*from);
        Answer answer(*to);
        if constexpr (requires { callback.handle(event, answer); }) callback.handle(event, answer);
        else dispatch(event, answer);
    }

    static void dispatch(const Event &event, Answer &answer) {
#define HOST_CASE(hook)                                                                        \
    case Hook::hook:                                                                           \
        if constexpr (requires { callback.hook(event, answer); }) callback.hook(event, answer); \
        break;
        switch (event.hook()) {
            HOST_CASE(train_begin)
            HOST_CASE(epoch_begin)
            HOST_CASE(step_begin)
            HOST_CASE(gradients)
            HOST_CASE(step_end)
            HOST_CASE(evaluate_begin)
            HOST_CASE(evaluate_end)
            HOST_CASE(log)
            HOST_CASE(save_begin)
            HOST_CASE(save_end)
            HOST_CASE(epoch_end)
            HOST_CASE(failure)
            HOST_CASE(train_end)
        }
#undef HOST_CASE
    }
};

} // namespace host

/**
 * Makes a class the callback of this component: `HOST_EXPORT(LossCeiling)`, once, outside of any namespace.
 *
 * The class has
 * - `static constexpr host::Manifest manifest`;
 * - a constructor from `(host::Settings &, const host::Run &, host::Subscriptions &)`, which joins a run;
 * - a method for each hook that it wants, `void step_end(const host::Event &, host::Answer &)`, or `handle` for all;
 * - a member `state`, trivially copyable, which is saved in checkpoints; everything else is made anew when it joins;
 * - `bool migrate(std::span<const std::byte> saved, std::uint32_t version)` for state of another version or size.
 */
#define HOST_EXPORT(Callback) extern "C" const host_callback host_plugin = host::Exported<Callback>::plugin();

#endif
