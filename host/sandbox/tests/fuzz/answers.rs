//! A guest whose code is good and whose answers are anything: lists, texts and variants as they lie in its memory, some
//! of them right, some nearly, some not at all. How modules can be wrong is in `modules`.

use serde_json::json;

use crate::{
    cases,
    probe::Input,
    random::Random,
    seeds::{ANSWERS, module},
};

/// The sixteen answers of a guest are over here.
const HEAP: usize = ANSWERS + 16 * 16;

/// So many lists hold no more than a memory page all together.
const MAX_BYTES: usize = 60_000;

#[test]
fn arbitrary_answers() {
    cases::each("arbitrary_answers", 400, |random| {
        let wrong_once_in = *random.pick(&[usize::MAX, 200, 20]);
        let mut memory = Memory { bytes: vec![0; HEAP], random, wrong_once_in };
        memory.manifest();
        for at in 0..16 {
            memory.answer(ANSWERS + 16 * at, at == 0);
        }
        Input { bytes: module(&memory.bytes), config: json!({}) }
    });
}

/// What a guest's memory holds when it begins.
struct Memory<'a> {
    bytes: Vec<u8>,
    random: &'a mut Random,
    /// How often a number is replaced by an odd one.
    wrong_once_in: usize,
}

impl Memory<'_> {
    fn put(&mut self, at: usize, value: u32) {
        let value = if self.random.once_in(self.wrong_once_in) { self.random.odd() } else { value };
        self.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Room for a list.
    fn take(&mut self, bytes: usize) -> usize {
        let at = self.bytes.len().next_multiple_of(8);
        self.bytes.resize(at + bytes, 0);
        at
    }

    /// A list's address and length.
    fn place(&mut self, at: usize, start: usize, length: usize) {
        self.put(at, u32::try_from(start).unwrap());
        self.put(at + 4, u32::try_from(length).unwrap());
    }

    fn text(&mut self, at: usize, text: &[u8]) {
        let start = self.take(text.len());
        self.bytes[start..start + text.len()].copy_from_slice(text);
        self.place(at, start, text.len());
    }

    /// Some words, which may be no words.
    fn words(&mut self, at: usize) {
        let words: [&[u8]; 15] = [
            b"",
            b"loss",
            b"gradient-norm",
            b"*",
            b"learning-rate",
            b"dropout",
            b"best",
            b"../../outside",
            b"\x1b[2J",
            "Über\u{9b}".as_bytes(),
            b"\xff\xfe",
            b"a b",
            b"****************************",
            &[b'x'; 3_000],
            &[b"1.0.0-".as_slice(), &[b'x'; 100]].concat(),
        ];
        let words = self.random.pick(&words).to_vec();
        self.text(at, &words);
    }

    /// Mostly a few, seldom many.
    fn count(&mut self, size: usize) -> usize {
        let most = (MAX_BYTES - self.bytes.len().min(MAX_BYTES)) / size;
        let count = if self.random.once_in(8) { self.random.below(2_000) } else { self.random.below(6) };
        count.min(most / 2)
    }

    /// What `describe` answers, at 0.
    fn manifest(&mut self) {
        for (at, right) in [(0, b"guest".as_slice()), (8, b"1.0.0"), (16, b"a summary"), (44, b"{}")] {
            if self.random.once_in(30) { self.words(at) } else { self.text(at, right) }
        }
        self.put(24, 0xff);
        if self.random.once_in(8) {
            self.names(28)
        } else {
            self.text(28, b"")
        };
        let order = self.random.odd();
        self.put(40, order);
        self.put(52, 1);
    }

    fn names(&mut self, at: usize) {
        let count = self.count(8);
        let start = self.take(8 * count);
        let is_one = self.random.once_in(2);
        for name in 0..count {
            self.one_of_many(start + 8 * name, is_one.then_some(start));
        }
        self.place(at, start, count);
    }

    /// Words of their own, or the very ones that lie elsewhere: then a short list is long to whoever copies it.
    fn one_of_many(&mut self, at: usize, first: Option<usize>) {
        match first.filter(|first| *first != at) {
            Some(first) => self.bytes.copy_within(first..first + 8, at),
            None if self.bytes.len() < MAX_BYTES => self.words(at),
            None => {}
        }
    }

    /// What a call answers. The first is `start`'s; which of the others is whose nobody knows here.
    fn answer(&mut self, at: usize, is_start: bool) {
        let is_error = self.random.once_in(8);
        self.put(at, u32::from(is_error));
        match (is_error, is_start) {
            (true, _) => self.words(at + 4),
            (false, true) => self.subscriptions(at + 4),
            (false, false) => self.decisions(at + 4),
        }
    }

    fn subscriptions(&mut self, at: usize) {
        let count = self.count(16);
        let start = self.take(16 * count);
        for one in 0..count {
            let hook = u32::try_from(self.random.below(13)).unwrap();
            self.put(start + 16 * one, hook);
            self.put(start + 16 * one + 4, 1);
            if self.random.once_in(4) { self.names(start + 16 * one + 8) } else { self.text(start + 16 * one + 8, b"") }
        }
        self.place(at, start, count);
    }

    fn decisions(&mut self, at: usize) {
        let count = self.count(24);
        let start = self.take(24 * count);
        let is_one = self.random.once_in(2);
        for one in 0..count {
            let kind = u32::try_from(self.random.below(12)).unwrap();
            self.put(start + 24 * one, kind);
            self.one_of_many(start + 24 * one + 8, is_one.then_some(start + 8));
            let value = self.random.float();
            self.bytes[start + 24 * one + 16..start + 24 * one + 24].copy_from_slice(&value.to_le_bytes());
        }
        self.place(at, start, count);
    }
}
