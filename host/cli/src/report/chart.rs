//! The loss curve as an SVG picture: training and validation loss over steps, and the best evaluation.
//!
//! It does not choose what counts as the best, and keeps no history. NaN and infinities are gaps in a line.
//! Main function: [`losses`].

use std::ops::Range;

use plotters::{
    chart::{ChartBuilder, ChartContext, SeriesLabelPosition},
    coord::{Shift, types::RangedCoordf64},
    drawing::DrawingAreaErrorKind,
    prelude::{
        BLACK, Cartesian2d, Circle, DrawingArea, IntoDrawingArea, LineSeries, PathElement, RGBColor, SVGBackend, WHITE,
    },
    style::{Color, IntoFont, ShapeStyle, TextStyle},
};

use crate::telemetry::{History, words};

/// The picture's name in the run's folder.
pub(super) const FILE: &str = "loss.svg";

const SIZE: (u32, u32) = (960, 460);
/// More evaluations than this are drawn without a mark each.
const MOST_MARKS: usize = 60;
/// What is larger is as good as infinite: a picture that shows it shows nothing else.
const LARGEST: f64 = 1e30;

// Told apart without colour too: one is light and thin, the other dark, thicker and marked.
const TRAINING: RGBColor = RGBColor(116, 173, 209);
const VALIDATION: RGBColor = RGBColor(165, 0, 38);
const INK: RGBColor = RGBColor(60, 60, 60);

type Plot<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;
type Point = (f64, f64);

/// One line of the picture.
struct Curve {
    label: String,
    color: RGBColor,
    width: u32,
    /// Radius of the marks; 0 for none.
    mark: u32,
    /// Stretches without a gap.
    parts: Vec<Vec<Point>>,
}

/// The picture, or `None` where no finite loss was seen.
pub(super) fn losses(history: &History) -> Option<String> {
    let training = curve(history, "loss", "training loss", TRAINING, 1);
    let validation = curve(history, "eval/loss", "validation loss", VALIDATION, 2);
    let curves: Vec<Curve> = [training, validation].into_iter().flatten().collect();
    let points: Vec<Point> = curves.iter().flat_map(|curve| curve.parts.iter().flatten().copied()).collect();
    let steps = range(points.iter().map(|point| point.0), 0.0)?;
    let losses = range(points.iter().map(|point| point.1), 0.06)?;
    let best = history.best.get("eval/loss").map(|best| (best.step as f64, best.value));
    let mut svg = String::new();
    // Drawing into a string cannot fail, and a report without its picture is still a report.
    let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    let corner = free_corner(&points, &steps, &losses);
    draw(&area, &curves, best, (steps, losses), corner).ok()?;
    drop(area);
    Some(svg)
}

/// Where the legend hides no point, if there is such a place; losses fall, so the upper right mostly is.
fn free_corner(points: &[Point], steps: &Range<f64>, losses: &Range<f64>) -> SeriesLabelPosition {
    // The legend's box as a part of the picture's width and height.
    const WIDTH: f64 = 0.3;
    const HEIGHT: f64 = 0.28;
    let is_right = |point: &&Point| point.0 > steps.end - WIDTH * (steps.end - steps.start);
    let is_left = |point: &&Point| point.0 < steps.start + WIDTH * (steps.end - steps.start);
    let high = losses.end - HEIGHT * (losses.end - losses.start);
    let low = losses.start + HEIGHT * (losses.end - losses.start);
    if !points.iter().filter(is_right).any(|point| point.1 > high) {
        SeriesLabelPosition::UpperRight
    } else if !points.iter().filter(is_left).any(|point| point.1 < low) {
        SeriesLabelPosition::LowerLeft
    } else if !points.iter().filter(is_right).any(|point| point.1 < low) {
        SeriesLabelPosition::LowerRight
    } else {
        SeriesLabelPosition::UpperMiddle
    }
}

fn curve(history: &History, name: &str, label: &str, color: RGBColor, width: u32) -> Option<Curve> {
    let points = history.series.get(name)?.points().map(|(step, value)| (step as f64, value));
    let parts = parts(points);
    let count: usize = parts.iter().map(Vec::len).sum();
    let mark = if width > 1 && count <= MOST_MARKS { 3 } else { 0 };
    (count > 0).then(|| Curve { label: label.to_owned(), color, width, mark, parts })
}

/// Cuts points at what cannot be drawn.
fn parts(points: impl Iterator<Item = Point>) -> Vec<Vec<Point>> {
    let mut parts = vec![Vec::new()];
    for point in points {
        if point.1.abs() <= LARGEST {
            parts.last_mut().into_iter().for_each(|part: &mut Vec<Point>| part.push(point));
        } else {
            parts.push(Vec::new());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The range of an axis: all values and a part of their span on both sides. A single value gets room too.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> Option<Range<f64>> {
    let (low, high) = values.fold(None, |span: Option<(f64, f64)>, value| {
        Some(span.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
    })?;
    let room = if high > low { (high - low) * margin } else { (high.abs() * 0.1).max(1e-3) };
    Some(low - room..high + room)
}

fn draw<'a>(
    area: &DrawingArea<SVGBackend<'a>, Shift>,
    curves: &[Curve],
    best: Option<Point>,
    (steps, losses): (Range<f64>, Range<f64>),
    legend: SeriesLabelPosition,
) -> Drawn {
    area.fill(&WHITE)?;
    let mut builder = ChartBuilder::on(area);
    builder.margin_top(18).margin_right(28).margin_bottom(8).margin_left(8);
    builder.x_label_area_size(48).y_label_area_size(72);
    let mut plot = builder.build_cartesian_2d(steps, losses)?;
    mesh(&mut plot)?;
    for curve in curves {
        line(&mut plot, curve)?;
    }
    if let Some(best) = best {
        mark_best(&mut plot, best)?;
    }
    plot.configure_series_labels()
        .position(legend)
        .margin(12)
        .legend_area_size(34)
        .label_font(text(15))
        .background_style(WHITE.mix(0.9))
        .border_style(INK.mix(0.3))
        .draw()?;
    area.present()
}

fn mesh(plot: &mut Plot<'_>) -> Drawn {
    plot.configure_mesh()
        .x_desc("step")
        .y_desc("loss")
        .x_labels(8)
        .y_labels(7)
        .x_label_formatter(&|step| if step.fract() == 0.0 { words::count(*step as u64) } else { String::new() })
        .y_label_formatter(&|loss| words::setting(*loss))
        .label_style(text(14))
        .axis_desc_style(text(15))
        .axis_style(INK.mix(0.6))
        .bold_line_style(BLACK.mix(0.12))
        .light_line_style(BLACK.mix(0.0))
        .draw()
}

fn line(plot: &mut Plot<'_>, curve: &Curve) -> Drawn {
    let (color, width, mark) = (curve.color, curve.width, curve.mark);
    let stroke = color.stroke_width(width);
    for part in &curve.parts {
        plot.draw_series(LineSeries::new(part.iter().copied(), stroke))?;
        // A value between two gaps is no line, and would not be seen without a mark.
        let radius = if part.len() == 1 { mark.max(2) } else { mark };
        let marks = part.iter().filter(|_| radius > 0).map(|&point| Circle::new(point, radius, color.filled()));
        plot.draw_series(marks)?;
    }
    let label = plot.draw_series(std::iter::empty::<Circle<Point, u32>>())?;
    label.label(&curve.label).legend(move |(x, y)| PathElement::new([(x, y), (x + 26, y)], stroke));
    Ok(())
}

fn mark_best(plot: &mut Plot<'_>, best: Point) -> Drawn {
    let ring: ShapeStyle = BLACK.stroke_width(2);
    let label = plot.draw_series([Circle::new(best, 7, ring)])?;
    let words = format!("best: {} at step {}", words::figure(best.1), words::count(best.0 as u64));
    label.label(words).legend(move |(x, y)| Circle::new((x + 13, y), 6, ring));
    Ok(())
}

fn text(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

#[cfg(test)]
mod tests {
    use host_trainer::RunEvent;

    use super::{super::sample, *};
    use crate::telemetry::samples;

    fn of(training: &[(u64, f64)], validation: &[(u64, f64)]) -> Option<String> {
        let mut history = History::default();
        for &(step, loss) in training {
            let values = samples::values(&[("loss", loss)]);
            let progress = samples::at(step);
            history.take(&RunEvent::Logged { progress, values: &values, performance: &[] });
        }
        for &(step, loss) in validation {
            let values = samples::values(&[("eval/loss", loss)]);
            history.take(&RunEvent::Evaluated { progress: samples::at(step), values: &values, seconds: 0.0 });
        }
        losses(&history)
    }

    /// Every start tag is closed, in order.
    fn is_well_formed(svg: &str) -> bool {
        let mut open = Vec::new();
        for tag in svg.split('<').skip(1) {
            let Some((tag, text)) = tag.split_once('>') else { return false };
            let name = |tag: &str| tag.split([' ', '\n', '/']).find(|part| !part.is_empty()).map(str::to_owned);
            if text.contains('>') {
                return false;
            } else if tag.starts_with('/') {
                if open.pop() != name(tag) {
                    return false;
                }
            } else if !tag.ends_with('/') {
                open.extend(name(tag));
            }
        }
        open.is_empty()
    }

    #[test]
    fn the_picture_has_both_curves_and_the_best() {
        let svg = losses(&sample::history()).unwrap();
        assert!(is_well_formed(&svg), "{svg}");
        // Each curve has one gap, so it is two lines.
        assert_eq!(svg.matches("<polyline fill=\"none\" opacity=\"1\" stroke=\"#74ADD1\"").count(), 3, "{svg}");
        assert_eq!(svg.matches("<polyline fill=\"none\" opacity=\"1\" stroke=\"#A50026\"").count(), 3, "{svg}");
        for text in ["training loss", "validation loss", "best: 0.7814 at step 600", "step\n", "loss\n"] {
            assert!(svg.contains(text), "{text} in {svg}");
        }
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn any_values_make_a_picture_or_none() {
        for (training, validation, there) in [
            (&[][..], &[][..], false),
            (&[(1, f64::NAN), (2, f64::INFINITY)], &[], false),
            (&[(5, 1.0)], &[], true),
            (&[(5, 1.0)], &[(5, 1.0)], true),
            (&[], &[(5, 0.0)], true),
            (&[(1, 2.0), (2, f64::NAN), (3, 2.0)], &[], true),
            (&[(1, f64::MAX), (2, 1.0)], &[(1, f64::MIN)], true),
            (&[(1, -1e30), (2, 1e30)], &[], true),
            (&[(0, 1e-300), (u64::MAX, 2e-300)], &[], true),
        ] {
            let svg = of(training, validation);
            assert_eq!(svg.is_some(), there, "{training:?} {validation:?}");
            assert!(svg.is_none_or(|svg| is_well_formed(&svg) && !svg.contains("NaN")), "{training:?} {validation:?}");
        }
    }

    #[test]
    fn the_legend_hides_no_point_where_it_can() {
        let unit = 0.0..1.0;
        let place = |points: &[Point]| free_corner(points, &unit, &unit);
        assert!(matches!(place(&[(0.1, 0.9), (0.9, 0.1)]), SeriesLabelPosition::UpperRight));
        assert!(matches!(place(&[(0.1, 0.9), (0.9, 0.1), (0.9, 0.9)]), SeriesLabelPosition::LowerLeft));
        assert!(matches!(place(&[(0.1, 0.1), (0.9, 0.9)]), SeriesLabelPosition::LowerRight));
        assert!(matches!(place(&[(0.1, 0.1), (0.9, 0.1), (0.9, 0.9)]), SeriesLabelPosition::UpperMiddle));
    }
}
