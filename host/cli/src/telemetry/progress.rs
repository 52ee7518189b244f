//! The live display on a terminal: a bar with the values that stand, and above it the lines about what
//! callbacks did, evaluations and checkpoints.
//!
//! A step costs a comparison of two times and no text unless the bar is due to be drawn again, ten times a
//! second at most. It does not write to anything but standard error. Main type: [`Live`].

use std::{
    collections::VecDeque,
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use host_callback::{Change, Progress, Record, Value, Verdict};
use host_trainer::RunEvent;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{
    lines::scalars,
    news::{News, Sink, What},
    words,
};

/// Least time between two drawings.
const REDRAW: Duration = Duration::from_millis(100);
/// Over how many drawings the speed is averaged: 2 seconds of short steps.
const SPEED_WINDOW: usize = 20;
/// How many knobs besides learning rates are shown.
const MOST_KNOBS: usize = 6;

const WITH_TOTAL: &str = "{wide_bar} {percent:>3}% · {human_pos}/{human_len} steps\n  {wide_msg}";
const WITHOUT_TOTAL: &str = "{spinner} {human_pos} steps\n  {wide_msg}";

/// Whether standard error is a terminal that can draw.
pub(super) fn is_possible() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The display.
pub(super) struct Live {
    bar: ProgressBar,
    view: View,
    drawn: Option<Instant>,
}

impl Live {
    /// A display that appears with the first event of the loop.
    pub(super) fn new() -> Self {
        // How often to draw is decided here; the target's own limit must not drop the last part of a drawing.
        Self::on(ProgressDrawTarget::stderr_with_hz(60))
    }

    fn on(target: ProgressDrawTarget) -> Self {
        // Stories come before the loop begins, and until then there is no bar to draw below them.
        let nothing = ProgressStyle::with_template("").expect("an empty template is well-formed");
        let bar = ProgressBar::with_draw_target(None, target).with_style(nothing);
        Self { bar, view: View::default(), drawn: None }
    }

    fn start(&mut self, progress: &Progress, now: Instant) {
        let template = if progress.total_steps.is_some() { WITH_TOTAL } else { WITHOUT_TOTAL };
        let style = ProgressStyle::with_template(template).expect("the template is well-formed");
        self.bar.set_style(style.progress_chars("━━─"));
        self.view.began = Some((now, progress.step));
        self.view.progress = *progress;
        self.draw(now);
    }

    /// Draws if it is time to; tells whether it did.
    fn draw_if_due(&mut self, now: Instant) -> bool {
        let due = self.drawn.is_none_or(|drawn| now.saturating_duration_since(drawn) >= REDRAW);
        if due {
            self.draw(now);
        }
        due
    }

    fn draw(&mut self, now: Instant) {
        self.drawn = Some(now);
        self.view.sample(now);
        let Progress { step, total_steps, .. } = self.view.progress;
        if let Some(total) = total_steps.filter(|_| self.bar.length() != total_steps) {
            self.bar.set_length(total);
        }
        self.bar.set_position(step);
        self.bar.set_message(self.view.status(now));
    }

    fn run(&mut self, event: &RunEvent<'_>, news: &News<'_>) {
        let now = || (news.clock.steady)();
        match event {
            RunEvent::Stepped { progress, loss, .. } => {
                self.view.step(progress, *loss);
                self.draw_if_due(now());
            }
            RunEvent::Started { progress, .. } => self.start(progress, now()),
            RunEvent::Logged { values, .. } => self.view.logged(values),
            RunEvent::Decided { record, .. } => self.view.decided(record),
            RunEvent::EvaluationStarted { .. } => {
                self.view.evaluating = true;
                self.draw(now());
            }
            RunEvent::Evaluated { .. } => {
                self.view.evaluating = false;
                self.draw(now());
            }
            RunEvent::Ended { .. } => self.bar.finish_and_clear(),
            _ => {}
        }
    }
}

impl Sink for Live {
    fn name(&self) -> &str {
        "progress display"
    }

    fn take(&mut self, news: &News<'_>) -> io::Result<()> {
        if let What::Run(event) = news.what {
            self.run(event, news);
        }
        if let Some(headline) = news.headline {
            self.bar.println(headline);
        }
        Ok(())
    }

    fn say(&mut self, line: &str) -> bool {
        self.bar.println(line);
        true
    }
}

/// The values that stand.
#[derive(Debug, Default)]
struct View {
    progress: Progress,
    loss: Option<f64>,
    /// Learning rates, and every other knob that a callback wrote.
    knobs: Vec<(String, f64)>,
    evaluating: bool,
    /// When this process began, and at which step.
    began: Option<(Instant, u64)>,
    /// Samples seen at the last drawings.
    speed: VecDeque<(Instant, u64)>,
}

impl View {
    fn step(&mut self, progress: &Progress, loss: Option<f64>) {
        self.progress = *progress;
        self.loss = loss.or(self.loss);
    }

    fn logged(&mut self, values: &[(String, Value)]) {
        for (name, value) in scalars(values) {
            if name == "loss" {
                self.loss = Some(value);
            } else if name.starts_with(words::RATE) {
                self.knob(name, value);
            }
        }
    }

    fn decided(&mut self, record: &Record) {
        if record.verdict == Verdict::Applied {
            record.changes.iter().for_each(|Change { knob, after, .. }| self.knob(knob, *after));
        }
    }

    fn knob(&mut self, name: &str, value: f64) {
        if let Some(knob) = self.knobs.iter_mut().find(|(known, _)| known == name) {
            knob.1 = value;
        } else if self.knobs.len() < MOST_KNOBS {
            self.knobs.push((name.to_owned(), value));
        }
    }

    fn sample(&mut self, now: Instant) {
        if self.speed.len() == SPEED_WINDOW {
            self.speed.pop_front();
        }
        self.speed.push_back((now, self.progress.samples));
    }

    fn samples_per_second(&self) -> Option<f64> {
        let (&(first, before), &(last, after)) = (self.speed.front()?, self.speed.back()?);
        let seconds = last.saturating_duration_since(first).as_secs_f64();
        (seconds > 0.0).then(|| after.saturating_sub(before) as f64 / seconds)
    }

    /// The time left if the rest goes as fast as this process has gone so far, evaluations and saves included.
    fn left(&self, now: Instant) -> Option<String> {
        let (began, first) = self.began?;
        let done = self.progress.step.checked_sub(first).filter(|&done| done > 0)?;
        let rest = self.progress.total_steps?.checked_sub(self.progress.step)?;
        let seconds = now.saturating_duration_since(began).as_secs_f64() / done as f64 * rest as f64;
        Some(words::seconds(seconds.ceil()))
    }

    fn status(&self, now: Instant) -> String {
        let left = self.left(now).map(|left| format!("{left} left"));
        let mut parts: Vec<String> = left.into_iter().collect();
        parts.push(format!("epoch {:.2}", self.progress.epoch));
        parts.extend(self.loss.map(|loss| format!("loss {}", words::figure(loss))));
        let knobs = || self.knobs.iter().map(|(name, value)| (name.as_str(), *value));
        parts.extend(words::learning_rates(knobs()));
        let others = knobs().filter(|(name, _)| !name.starts_with(words::RATE));
        parts.extend(others.map(|(name, value)| format!("{} {}", words::printable(name), words::setting(value))));
        parts.extend(self.samples_per_second().map(|rate| format!("{} samples/s", words::figure(rate))));
        parts.extend(self.evaluating.then(|| "evaluating".to_owned()));
        parts.join(" · ")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use host_callback::{Decision, Hook};
    use host_trainer::Ending;
    use indicatif::TermLike;

    use super::{
        super::{Clock, headline::Headlines, samples},
        *,
    };

    /// A terminal of 100 columns that keeps what was written to it.
    #[derive(Clone, Debug, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            100
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text).and_then(|()| self.write_str("\n"))
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    fn tell(live: &mut Live, headlines: &mut Headlines, event: &RunEvent<'_>) {
        let headline = headlines.of(event);
        let news = News {
            what: What::Run(event),
            at: Progress::default(),
            headline: headline.as_deref(),
            clock: Clock::default(),
        };
        live.take(&news).unwrap();
    }

    #[test]
    fn the_display_shows_the_bar_and_what_callbacks_did() {
        let screen = Screen::default();
        let mut live = Live::on(ProgressDrawTarget::term_like(Box::new(screen.clone())));
        let mut headlines = Headlines::default();
        assert!(live.say("before the loop"));
        assert_eq!(screen.0.lock().unwrap().trim(), "before the loop");
        let progress = samples::at(0);
        tell(&mut live, &mut headlines, &RunEvent::Started { device: "cpu", parameters: 10, progress });
        let set = samples::record(Decision::Set { knob: "learning-rate".into(), value: 3e-4 }, Verdict::Applied);
        let stop = samples::record(Decision::Stop("\x1b[31mdone".into()), Verdict::Applied);
        let progress = samples::at(50);
        for record in [&set, &stop] {
            tell(&mut live, &mut headlines, &RunEvent::Decided { progress, hook: Hook::StepEnd, record });
        }
        tell(&mut live, &mut headlines, &RunEvent::Stepped { progress, loss: Some(0.25), seconds: 0.1 });
        tell(&mut live, &mut headlines, &RunEvent::EvaluationStarted { progress });
        let seen = screen.0.lock().unwrap().clone();
        for part in [
            "training 10 parameters on cpu",
            "50% · 50/100 steps",
            "loss 0.2500 · lr 3e-4",
            "evaluating",
            "\\u{1b}[31m",
        ] {
            assert!(seen.contains(part), "{part} in {seen}");
        }
        assert!(!seen.contains("set learning-rate"), "{seen}");
        assert!(!seen.contains("\x1b[31m"), "{seen}");
        let ended =
            RunEvent::Ended { progress, ending: &Ending::Completed, evaluation: &Default::default(), callbacks: &[] };
        tell(&mut live, &mut headlines, &ended);
        assert!(live.bar.is_finished());
    }

    #[test]
    fn the_bar_is_drawn_ten_times_a_second_at_most() {
        let mut live = Live::on(ProgressDrawTarget::hidden());
        let start = Instant::now();
        live.start(&samples::at(0), start);
        let drawn = (1..=100_000).filter(|step| live.draw_if_due(start + Duration::from_micros(step * 10))).count();
        assert_eq!(drawn, 10);
    }

    #[test]
    fn the_speed_and_the_time_left_come_from_what_was_done() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut view = View { began: Some((start, 20)), progress: samples::at(20), ..View::default() };
        assert_eq!(view.left(after(1)), None);
        view.sample(start);
        view.step(&samples::at(40), Some(f64::NAN));
        view.sample(after(10));
        assert_eq!(view.status(after(10)), "30s left · epoch 4.00 · loss NaN · 8.000 samples/s");
        view.logged(&samples::values(&[("learning-rate/a", 0.1), ("learning-rate/b", 1e-5), ("x", 1.0)]));
        view.progress.total_steps = None;
        assert_eq!(view.status(after(10)), "epoch 4.00 · loss NaN · lr/a 0.1 · lr/b 1e-5 · 8.000 samples/s");
    }
}
