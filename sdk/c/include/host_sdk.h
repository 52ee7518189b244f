/**
 * @file
 * Write a callback that steers a training run, in C: one constant that names its hooks, and a function for each.
 * Does not decide what a callback may do; the host checks every answer.
 *
 * A component has one instance of one callback and one thread, so what the callback knows stands in static variables:
 * its settings, which `start` reads, and its state, which is saved in checkpoints. At a hook it is shown an event with
 * the measurements that it subscribed to, and adds decisions to an answer.
 *
 * Text that the library hands out ends with a zero byte and lasts until the function that was called returns. Text that
 * is handed to the library is copied. Without memory left a call ends with a trap, which costs the host one instance.
 */
#ifndef HOST_SDK_H
#define HOST_SDK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOST_PRINTS(words, first) __attribute__((__format__(__printf__, words, first)))

/** A list of names: `HOST_NAMES("loss", "accuracy")`. It ends with `NULL`, as every list of words here. */
#define HOST_NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The run ---------------------------------------------------------------------------------------------------------- */

/** A moment in the training loop, in the order in which a run meets them. */
typedef enum host_hook {
    HOST_TRAIN_BEGIN,    /**< Once in the life of a run, before its first step. Not sent again after a resume. */
    HOST_EPOCH_BEGIN,    /**< Before the first step of an epoch. */
    HOST_STEP_BEGIN,     /**< Before the batch is fetched. A skip drops the batch. */
    HOST_GRADIENTS,      /**< The update's gradients are there, not yet clipped or applied. A skip drops the update. */
    HOST_STEP_END,       /**< The optimizer has been applied, or the update was dropped. */
    HOST_EVALUATE_BEGIN, /**< A skip drops this evaluation. */
    HOST_EVALUATE_END,   /**< An evaluation is complete. One that was cut short does not get here. */
    HOST_LOG,            /**< A log record is about to be written. */
    HOST_SAVE_BEGIN,     /**< A skip drops this save. */
    HOST_SAVE_END,       /**< The checkpoint is durable on disk. */
    HOST_EPOCH_END,      /**< After the last step, evaluation and save of an epoch. */
    HOST_FAILURE,        /**< The loop failed; `host_event_detail` says how. */
    HOST_TRAIN_END,      /**< The run ends; `host_event_detail` says why. A restore is still possible. */
} host_hook;

/** How far the run is, counted from its beginning, resumed parts included. */
typedef struct host_progress {
    uint64_t step;        /**< Steps finished: 0 at `step-begin` of the first one, 1 at its `step-end`. */
    bool has_total_steps; /**< Whether `total_steps` is known. */
    uint64_t total_steps; /**< Steps that the run will do if nothing stops it. */
    double epoch;         /**< Epochs finished, with the fraction of the running one; 0 or more. */
    uint64_t samples;     /**< Training samples seen. */
    uint64_t tokens;      /**< Tokens seen; 0 where the task has none. */
} host_progress;

/** The run that a callback joins. */
typedef struct host_run {
    const char *name;        /**< Its name. */
    uint64_t seed;           /**< What everything random in the run comes from. */
    uint32_t rank;           /**< This process among `world_size`, from 0. */
    uint32_t world_size;     /**< How many processes train together; at least 1. */
    uint64_t step;           /**< The step at which the callback joins: 0 at the beginning, more after a resume. */
    const char *description; /**< JSON: `model`, `task`, `parameters`, `groups`, `knobs`. */
} host_run;

/** The decisions of one call, in order. An empty answer is "go on". */
typedef struct host_answer host_answer;

/* Events ----------------------------------------------------------------------------------------------------------- */

/** What a callback is shown at a hook: what it subscribed to, as far as it is known now. */
typedef struct host_event {
    host_hook hook;              /**< The moment. */
    host_progress progress;      /**< How far the run is. */
    size_t count;                /**< How many single numbers there are. */
    const double *values;        /**< The numbers; `host_event_name` says what each is called. */
    struct host_event_rest *rest; /**< The library's own. */
} host_event;

/**
 * Reads the measurement of this name, if it is one number, was subscribed to and is known now. It can be NaN.
 *
 * What the numbers of an event are called is remembered, so that reading costs a comparison where measurements are read
 * in the order in which they were subscribed to.
 *
 * @return Whether there is one; `*value` is left alone otherwise.
 */
bool host_event_get(const host_event *event, const char *name, double *value);

/** Where the number of this name stands in `event->values`; `SIZE_MAX` for none. `length` is that of the name in bytes. */
size_t host_event_find(const host_event *event, const char *name, size_t length);

/**
 * As `host_event_get`, and the first time that it is missing says so in the log and the timeline: for a name from the
 * settings. The run may offer it and yet not know it at this hook, and a callback that silently does nothing looks like
 * one that works. `told` is part of the callback's state.
 */
bool host_event_get_or_tell(const host_event *event, const char *name, double *value, bool *told, host_answer *answer);

/** What `event->values[index]` is called. `index` is below `event->count`. Lasts as long as the instance. */
const char *host_event_name(const host_event *event, size_t index);

/** The measurement of this name, if it is several numbers: `*count` of them, or `NULL`. Asked of the host once. */
const float *host_event_vector(const host_event *event, const char *name, size_t *count);

/** The measurement of this name, if it is words, or `NULL`. `length` gets its bytes unless it is `NULL`. */
const char *host_event_text(const host_event *event, const char *name, size_t *length);

/** Why: the stop reason at `train-end`, the error at `failure`, the tag at `save-begin` and `save-end`; else empty. */
const char *host_event_detail(const host_event *event);

/** The names of the event's vectors or texts: `*count` of them. They last until the hook returns. */
const char *const *host_event_vectors(const host_event *event, size_t *count);
const char *const *host_event_texts(const host_event *event, size_t *count);

/** Whether `name` fits `pattern`, in which `*` stands for any characters, also none. */
bool host_matches(const char *pattern, const char *name);

/* Answers ---------------------------------------------------------------------------------------------------------- */

/** End the run after this event, cleanly. The words, in the manner of `printf`, are the reason that people read. */
void host_answer_stop(host_answer *answer, const char *format, ...) HOST_PRINTS(2, 3);
/** Go on with the next epoch. */
void host_answer_end_epoch(host_answer *answer, const char *format, ...) HOST_PRINTS(2, 3);
/** Evaluate at the next safe point. */
void host_answer_evaluate(host_answer *answer);
/** Save a checkpoint at the next safe point, and point `tag` to it; lower-case letters, digits, `-`; empty for none. */
void host_answer_save(host_answer *answer, const char *tag);
/** Write a log record at the next safe point. */
void host_answer_log(host_answer *answer);
/** Drop what this hook announces. */
void host_answer_skip(host_answer *answer, const char *format, ...) HOST_PRINTS(2, 3);
/** Put weights and optimizer state back to the checkpoint that `tag` points to. */
void host_answer_restore(host_answer *answer, const char *tag);
/** Give a knob a value. A name such as `learning-rate` addresses all of `learning-rate/<group>`. */
void host_answer_set(host_answer *answer, const char *knob, double value);
/** Multiply a knob by a factor. */
void host_answer_scale(host_answer *answer, const char *knob, double factor);
/** Publish a measurement of the callback's own, which others see as `<instance>/<name>`. */
void host_answer_report(host_answer *answer, const char *name, double value);
/** At `log`: leave a name (`*` allowed) out of the record. */
void host_answer_mute(host_answer *answer, const char *name);
/** Leave a line in the run's timeline. */
void host_answer_note(host_answer *answer, const char *format, ...) HOST_PRINTS(2, 3);
/** Kinds of decisions, for `host_answer_decide`. */
typedef enum host_decision {
    HOST_DECIDE_STOP,
    HOST_DECIDE_END_EPOCH,
    HOST_DECIDE_EVALUATE,
    HOST_DECIDE_SAVE,
    HOST_DECIDE_LOG,
    HOST_DECIDE_SKIP,
    HOST_DECIDE_RESTORE,
    HOST_DECIDE_SET,
    HOST_DECIDE_SCALE,
    HOST_DECIDE_REPORT,
    HOST_DECIDE_MUTE,
    HOST_DECIDE_NOTE,
} host_decision;

/**
 * Any decision: with its words, its tag or the name of its knob or report as `length` bytes that need not end with a
 * zero byte, and a value where it has one.
 */
void host_answer_decide(host_answer *answer, host_decision kind, const char *words, size_t length, double value);

/**
 * Tell the host that the event could not be handled. The decisions of this call are dropped, the callback is made anew
 * with its last good state, and its failure policy counts one more.
 */
void host_answer_fail(host_answer *answer, const char *format, ...) HOST_PRINTS(2, 3);

/* Settings --------------------------------------------------------------------------------------------------------- */

/**
 * The callback's configuration, while `start` runs. A key that is missing or `null` gives the fallback.
 *
 * The first mistake is kept, and after `start` it is what the host shows, with the key's name; so no call has to be
 * checked. A key that `start` never asked for is a mistake too: a typing error must not pass for a setting.
 */
typedef struct host_config host_config;

/** Up to this, whole numbers in JSON are exact everywhere. */
#define HOST_MAX_WHOLE (UINT64_C(1) << 53)

/** Whether the key has a value. One that is read only in some cases counts as asked for by this. */
bool host_config_has(host_config *config, const char *key);
/** Makes a missing key a mistake: `ceiling is missing`. */
void host_config_require(host_config *config, const char *key);
/** A number. `"NaN"`, `"Infinity"` and `"-Infinity"` are numbers too, which JSON has no other way to write. */
double host_config_number(host_config *config, const char *key, double fallback);
/** A whole number from 0 to `maximum`, which is at most `HOST_MAX_WHOLE`. */
uint64_t host_config_whole(host_config *config, const char *key, uint64_t fallback, uint64_t maximum);
/** `true` or `false`. */
bool host_config_boolean(host_config *config, const char *key, bool fallback);
/** Words. Lasts as long as the instance. */
const char *host_config_text(host_config *config, const char *key, const char *fallback);
/** One of several words, by its place in `choices`. */
size_t host_config_choice(host_config *config, const char *key, const char *const *choices, size_t fallback);
/** The JSON of a value, for lists and tables; `NULL` for none. Lasts as long as the instance. */
const char *host_config_json(host_config *config, const char *key);
/** Says what is wrong with the settings, for what the functions above can't know. Name the key in the words. */
void host_config_refuse(host_config *config, const char *format, ...) HOST_PRINTS(2, 3);

/* Subscriptions ---------------------------------------------------------------------------------------------------- */

/** When the callback is called, and what it is shown then. A hook that is not subscribed to is never called. */
typedef struct host_subscriptions host_subscriptions;

/** Call at each occurrence of the hook. `reads` names measurements, `*` allowed; `NULL` for none. */
void host_on(host_subscriptions *subscriptions, host_hook hook, const char *const *reads);
/**
 * Call at every n-th occurrence of the hook, counted from the beginning of the run. The host refuses 0. Several
 * subscriptions to one hook that are due together are one call, with everything that they read.
 */
void host_every(host_subscriptions *subscriptions, uint32_t n, host_hook hook, const char *const *reads);

/* The callback ----------------------------------------------------------------------------------------------------- */

/** Kinds of decisions that a plugin has to announce. Reports and notes are free; writes to knobs go by `knobs`. */
typedef enum host_requests {
    HOST_MAY_STOP = 1 << 0,
    HOST_MAY_END_EPOCH = 1 << 1,
    HOST_MAY_EVALUATE = 1 << 2,
    HOST_MAY_SAVE = 1 << 3,
    HOST_MAY_LOG = 1 << 4,
    HOST_MAY_SKIP = 1 << 5,
    HOST_MAY_RESTORE = 1 << 6,
    HOST_MAY_MUTE = 1 << 7,
} host_requests;

/** What a callback does at one hook. */
typedef void host_handler(const host_event *event, host_answer *answer);

/** What a callback is, and its functions. What is left out is 0: it asks for nothing, and answers nothing. */
typedef struct host_callback {
    const char *name;              /**< Lower-case letters, digits and `-`. */
    const char *version;           /**< Semantic version. */
    const char *summary;           /**< One sentence on what it does. */
    unsigned requests;             /**< The most that it can ever ask for: `HOST_MAY_STOP | HOST_MAY_SAVE`. */
    const char *const *knobs;      /**< Knobs that it may want to write, `*` allowed. */
    bool background;               /**< Handle events on another thread: only reports and notes are taken then. */
    int32_t order;                 /**< Lower runs earlier. The configuration can override it. */
    const char *config_schema;     /**< JSON Schema of the settings; without one the host checks nothing beforehand. */
    size_t config_schema_length;   /**< Its bytes, where it does not end with a zero byte (`#embed`). */

    /** Joins a run: reads the settings and subscribes. Called again in a new instance after a resume or a crash. */
    void (*start)(host_config *config, const host_run *run, host_subscriptions *subscriptions);

    /**
     * The state: a static variable without pointers, saved and taken back byte by byte, so NaN and every bit of a
     * number survive. It is laid out alike by every compiler for this target; still, raise `state_version` when its
     * type changes.
     */
    void *state;
    size_t state_size;      /**< `sizeof` of it; 0 for no state. */
    uint32_t state_version; /**< Version of the state's type; 0 counts as 1. */
    /**
     * Takes back state of another version or size. False where it can't, which fails the instance. Without it such
     * state is refused, with the versions in the message.
     */
    bool (*migrate)(const void *bytes, size_t length, uint32_t version);

    host_handler *handle; /**< All hooks alike. With it the functions below are not called. */
    host_handler *train_begin, *epoch_begin, *step_begin, *gradients, *step_end, *evaluate_begin, *evaluate_end, *log,
        *save_begin, *save_end, *epoch_end, *failure, *train_end; /**< One hook each, by its name in `host_hook`. */
} host_callback;

/** The callback of this component. The author defines it, once. */
extern const host_callback host_plugin;

/* The log, and text ------------------------------------------------------------------------------------------------ */

/** A line of use while the callback is being written, in the manner of `printf`. */
void host_log_debug(const char *format, ...) HOST_PRINTS(1, 2);
/** A line of use to whoever watches the run. */
void host_log_info(const char *format, ...) HOST_PRINTS(1, 2);
/** The run goes on, perhaps not as wanted. */
void host_log_warn(const char *format, ...) HOST_PRINTS(1, 2);
/** Something failed. The last such line is the message of a call that traps after it. */
void host_log_error(const char *format, ...) HOST_PRINTS(1, 2);

/** So many bytes hold any number as text, the zero byte included. */
#define HOST_NUMBER_BYTES 352

/** The shortest decimal text that reads back as `number`, without an exponent; `NaN`, `inf`, `-inf`. */
const char *host_number_text(double number, char text[HOST_NUMBER_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
