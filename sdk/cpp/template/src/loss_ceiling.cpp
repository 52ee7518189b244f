/**
 * @file
 * Stops a run whose loss stays too high.
 */
#include <host_sdk.hpp>

#include "strikes.hpp"

constexpr char schema[] = {
#embed "../settings.schema.json"
};

class LossCeiling {
public:
    static constexpr host::Manifest manifest = {
        .name = "loss-ceiling",
        .version = "0.1.0",
        .summary = "Stops a run whose loss stays too high.",
        .requests = HOST_MAY_STOP,
        .config_schema = {schema, sizeof schema},
    };

    /** What is learned on the way. */
    State state;

    LossCeiling(host::Settings &settings, const host::Run &, host::Subscriptions &subscriptions)
        : ceiling(settings.require<double>("ceiling")), patience(settings.get<std::uint32_t>("patience", 3)) {
        subscriptions.on(host::Hook::step_end, {"loss"});
    }

    void step_end(const host::Event &event, host::Answer &answer) {
        auto loss = event.get("loss");
        if (loss && state.strike(ceiling, patience, *loss)) {
            answer.stop("the loss was above ", ceiling, " ", patience, " times in a row: now ", *loss);
        }
    }

private:
    // What stands in `[plugin.config]`; `settings.schema.json` says the same to the host.
    double ceiling;
    std::uint32_t patience;
};

HOST_EXPORT(LossCeiling)
