//! A text as tokens, split into a training and a validation part.
//!
//! It does not touch tensors. Main type: [`Text`].

use std::{collections::BTreeSet, path::Path};

use super::{LanguageModelSettings, Level};
use crate::TrainError;

/// Larger files would not fit into memory beside a model; they need a task that streams.
const MAX_BYTES: u64 = 2 << 30;

/// All tokens of a text.
#[derive(Debug)]
pub(super) struct Text {
    tokens: Vec<u16>,
    /// Where the validation part begins.
    split: usize,
    /// The characters by token; `None` where a token is a byte.
    characters: Option<Vec<char>>,
}

impl Text {
    /// Reads and splits a file.
    pub(super) fn read(path: &Path, settings: &LanguageModelSettings) -> Result<Self, TrainError> {
        let bad = |message: String| TrainError::Data { path: path.to_owned(), message };
        let size = std::fs::metadata(path).map_err(|error| bad(error.to_string()))?.len();
        if size > MAX_BYTES {
            return Err(bad(format!("{size} bytes; at most {MAX_BYTES} are read")));
        }
        let bytes = std::fs::read(path).map_err(|error| bad(error.to_string()))?;
        Self::new(bytes, settings).map_err(bad)
    }

    fn new(bytes: Vec<u8>, settings: &LanguageModelSettings) -> Result<Self, String> {
        let (tokens, characters) = match settings.level {
            Level::Byte => (bytes.into_iter().map(u16::from).collect::<Vec<_>>(), None),
            Level::Character => {
                let (tokens, characters) = characters(bytes)?;
                (tokens, Some(characters))
            }
        };
        let split = (tokens.len() as f64 * (1.0 - settings.validation)) as usize;
        let (training, validation) = (split, tokens.len() - split);
        // A training window needs a token after it, and room for an epoch's offset.
        let (least, context) = (2 * settings.context + 1, settings.context);
        if training < least || validation < context + 1 {
            return Err(format!(
                "{training} tokens for training and {validation} for validation; a context of {context} needs at least \
                 {least} and {}",
                context + 1
            ));
        }
        Ok(Self { tokens, split, characters })
    }

    /// How many different tokens there can be.
    pub(super) fn vocabulary(&self) -> usize {
        self.characters.as_ref().map_or(256, Vec::len)
    }

    pub(super) fn training(&self) -> &[u16] {
        &self.tokens[..self.split]
    }

    pub(super) fn validation(&self) -> &[u16] {
        &self.tokens[self.split..]
    }

    /// Windows of an epoch that lie side by side behind any offset below `context`.
    pub(super) fn windows(&self, context: usize) -> usize {
        (self.split - context) / context
    }

    /// Tokens as text; bytes that are no UTF-8 become a replacement character.
    pub(super) fn decode(&self, tokens: &[u16]) -> String {
        match &self.characters {
            Some(characters) => tokens.iter().map(|&token| characters[usize::from(token)]).collect(),
            None => {
                let bytes: Vec<u8> = tokens.iter().map(|&token| token as u8).collect();
                String::from_utf8_lossy(&bytes).into_owned()
            }
        }
    }
}

/// Characters are numbered in the order of their code points.
fn characters(bytes: Vec<u8>) -> Result<(Vec<u16>, Vec<char>), String> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("byte {at} is not UTF-8; `task.level = \"byte\"` takes any file")
    })?;
    let characters: Vec<char> = text.chars().collect::<BTreeSet<_>>().into_iter().collect();
    if characters.len() > usize::from(u16::MAX) {
        return Err(format!("{} different characters; at most {} are numbered", characters.len(), u16::MAX));
    }
    let number = |c: char| characters.binary_search(&c).expect("every character was collected") as u16;
    Ok((text.chars().map(number).collect(), characters))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> LanguageModelSettings {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn every_window_has_a_next_token() {
        for length in 9..60 {
            let settings = settings(r#"{"data": "x", "context": 3, "validation": 0.45}"#);
            let Ok(text) = Text::new(vec![b'a'; length], &settings) else { continue };
            let last_start = (text.windows(3) - 1) * 3 + 2;
            assert!(text.windows(3) >= 1 && last_start + 3 < text.training().len(), "{length}");
        }
    }

    #[test]
    fn text_comes_back_from_tokens() {
        let text = Text::new("äbc ".repeat(50).into_bytes(), &settings(r#"{"data": "x", "context": 4}"#)).unwrap();
        assert_eq!(text.vocabulary(), 4);
        assert_eq!(text.decode(&text.training()[..4]), "äbc ");
        let error = Text::new(vec![0xff; 500], &settings(r#"{"data": "x"}"#)).unwrap_err();
        assert!(error.starts_with("byte 0 is not UTF-8"), "{error}");
        let error = Text::new(vec![b'a'; 80], &settings(r#"{"data": "x", "level": "byte"}"#)).unwrap_err();
        assert!(error.contains("a context of 64 needs at least 129 and 65"), "{error}");
    }
}
