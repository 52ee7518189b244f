//! What an event's numbers are called: asked of the host once for each shape of events.
//! Does not hold the numbers: the event does.

use std::cell::RefCell;
use std::rc::Rc;

/// So many shapes are remembered at one time. A callback has one or two for each of its hooks, as a rule.
const MAX_SHAPES: usize = 64;

/// The names of the numbers in events of one shape, in their order.
pub(crate) struct Shape {
    number: u32,
    pub(crate) names: Vec<Rc<str>>,
}

/// The shapes that have come up.
#[derive(Default)]
pub(crate) struct Shapes(RefCell<Vec<Rc<Shape>>>);

impl Shapes {
    /// The shape of this number; `names` asks for what is in it.
    pub(crate) fn of(&self, number: u32, names: impl FnOnce() -> Vec<Rc<str>>) -> Rc<Shape> {
        let mut shapes = self.0.borrow_mut();
        if let Some(shape) = shapes.iter().find(|shape| shape.number == number) {
            return Rc::clone(shape);
        }
        if shapes.len() == MAX_SHAPES {
            shapes.clear();
        }
        let shape = Rc::new(Shape { number, names: names() });
        shapes.push(Rc::clone(&shape));
        shape
    }
}

impl Shape {
    /// Where the number of this name stands. It is looked for at `likely` first.
    pub(crate) fn place_of(&self, name: &str, likely: usize) -> Option<usize> {
        match self.names.get(likely) {
            Some(known) if is_same(known, name) => Some(likely),
            _ => self.names.iter().position(|known| is_same(known, name)),
        }
    }
}

/// Whether two names are equal, eight bytes at a time: the target's own comparison goes byte by byte, which for eight
/// names takes longer than the rest of an event.
fn is_same(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    loop {
        match one.len() {
            0..4 => return one == other,
            4..8 => return ends::<4>(one) == ends(other),
            8..=16 => return ends::<8>(one) == ends(other),
            _ if one[..8] != other[..8] => return false,
            _ => (one, other) = (&one[8..], &other[8..]),
        }
    }
}

/// The first and the last bytes, which may overlap.
fn ends<const N: usize>(name: &[u8]) -> Option<(&[u8; N], &[u8; N])> {
    Some((name.first_chunk()?, name.last_chunk()?))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn only_equal_names_are_the_same() {
        // Each length, and each byte of it changed once.
        let text = "gradient-norm/encoder.layer.7.weight/p90";
        for length in 0..=text.len() {
            let name = &text[..length];
            let equal = name.to_owned();
            assert!(is_same(name, &equal));
            assert!(!is_same(name, &format!("{name}x")));
            for place in 0..length {
                let changed = format!("{}~{}", &name[..place], &name[place + 1..]);
                assert!(!is_same(name, &changed), "{name} and {changed}");
            }
        }
    }

    #[test]
    fn names_are_asked_for_once_for_each_shape() {
        let (shapes, asked) = (Shapes::default(), Cell::new(0));
        let names = |names: &'static [&'static str]| {
            let asked = &asked;
            move || {
                asked.set(asked.get() + 1);
                names.iter().map(|name| (*name).into()).collect()
            }
        };
        for _ in 0..3 {
            assert_eq!(shapes.of(1, names(&["loss", "eval/loss"])).place_of("eval/loss", 0), Some(1));
            assert_eq!(shapes.of(7, names(&["eval/loss"])).place_of("eval/loss", 1), Some(0));
            assert_eq!(shapes.of(7, names(&["eval/loss"])).place_of("loss", 0), None);
        }
        assert_eq!(asked.get(), 2);
        for number in 100..300 {
            shapes.of(number, names(&[]));
            assert!(shapes.0.borrow().len() <= MAX_SHAPES);
        }
    }
}
