//! A CSV file as features and labels, split and standardized.
//!
//! It does not touch tensors. Main type: [`Table`].

use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::{ClassificationSettings, Split, Standardize};
use crate::TrainError;

/// Larger files would not fit into memory beside a model; they need a task that streams.
const MAX_BYTES: u64 = 2 << 30;

/// All rows of a file, and which of them are for training and which for validation.
#[derive(Debug)]
pub(super) struct Table {
    width: usize,
    values: Vec<f32>,
    labels: Vec<i64>,
    classes: Vec<String>,
    training: Vec<usize>,
    validation: Vec<usize>,
}

impl Table {
    /// Reads, splits and standardizes.
    pub(super) fn read(path: &Path, settings: &ClassificationSettings, seed: u64) -> Result<Self, TrainError> {
        let bad = |message: String| TrainError::Data { path: path.to_owned(), message };
        let size = std::fs::metadata(path).map_err(|error| bad(error.to_string()))?.len();
        if size > MAX_BYTES {
            return Err(bad(format!("{size} bytes; at most {MAX_BYTES} are read")));
        }
        let bytes = std::fs::read(path).map_err(|error| bad(error.to_string()))?;
        let raw = Raw::parse(&bytes, settings.label.as_deref()).map_err(bad)?;
        let (training, validation) = split(raw.labels.len(), settings, seed).map_err(bad)?;
        let (labels, classes) = number_classes(&raw.labels);
        if classes.len() < 2 {
            return Err(bad(format!("every row has the label `{}`; a classifier needs two", classes[0])));
        }
        let mut table = Self { width: raw.width, values: raw.values, labels, classes, training, validation };
        table.standardize(settings.standardize);
        Ok(table)
    }

    pub(super) fn features(&self) -> usize {
        self.width
    }

    /// The classes' labels, in the order of their numbers.
    pub(super) fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Rows for training.
    pub(super) fn training(&self) -> &[usize] {
        &self.training
    }

    /// Rows for validation.
    pub(super) fn validation(&self) -> &[usize] {
        &self.validation
    }

    /// Features, row after row, and labels of some rows.
    pub(super) fn gather(&self, rows: &[usize]) -> (Vec<f32>, Vec<i64>) {
        let mut features = Vec::with_capacity(rows.len() * self.width);
        rows.iter().for_each(|&row| features.extend_from_slice(self.row(row)));
        (features, rows.iter().map(|&row| self.labels[row]).collect())
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.width..(row + 1) * self.width]
    }

    /// Mean and deviation come from the training rows alone. A constant column is only centred.
    fn standardize(&mut self, how: Standardize) {
        let columns: Vec<Vec<usize>> = match how {
            Standardize::None => return,
            Standardize::Feature => (0..self.width).map(|column| vec![column]).collect(),
            Standardize::Global => vec![(0..self.width).collect()],
        };
        for together in columns {
            let training = self.training.iter().map(|&row| self.row(row));
            let values: Vec<f64> = training.flat_map(|row| together.iter().map(|&at| f64::from(row[at]))).collect();
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
            let scale = if deviation > 0.0 { 1.0 / deviation } else { 1.0 };
            for row in self.values.chunks_exact_mut(self.width) {
                for &at in &together {
                    row[at] = ((f64::from(row[at]) - mean) * scale) as f32;
                }
            }
        }
    }
}

/// Rows as they stand in the file.
struct Raw {
    width: usize,
    values: Vec<f32>,
    labels: Vec<String>,
}

impl Raw {
    fn parse(bytes: &[u8], label: Option<&str>) -> Result<Self, String> {
        let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).trim(Trim::All).from_reader(bytes);
        let mut header: Option<StringRecord> = None;
        let mut columns = None;
        let mut raw = Self { width: 0, values: Vec::new(), labels: Vec::new() };
        for (at, record) in reader.records().enumerate() {
            let record = record.map_err(|error| format!("row {}: {error}", at + 1))?;
            if at == 0 && is_header(&record) {
                header = Some(record);
                continue;
            }
            let (width, label_at) = match columns {
                Some(known) => known,
                None => *columns.insert((record.len(), label_column(&record, header.as_ref(), label)?)),
            };
            raw.push(&record, width, label_at, header.as_ref()).map_err(|error| format!("row {}, {error}", at + 1))?;
        }
        match columns {
            Some((width, _)) => raw.width = width - 1,
            None => return Err("there is no row".into()),
        }
        Ok(raw)
    }

    fn push(
        &mut self,
        record: &StringRecord,
        width: usize,
        label_at: usize,
        header: Option<&StringRecord>,
    ) -> Result<(), String> {
        if record.len() != width {
            return Err(format!("column {}: {} columns where the first row has {width}", record.len(), record.len()));
        }
        for (at, field) in record.iter().enumerate() {
            let place = || match header.and_then(|header| header.get(at)) {
                Some(name) => format!("column {} (`{name}`)", at + 1),
                None => format!("column {}", at + 1),
            };
            if at == label_at {
                if field.is_empty() {
                    return Err(format!("{}: the label is empty", place()));
                }
                self.labels.push(field.to_owned());
                continue;
            }
            let value: f32 = field.parse().map_err(|_| format!("{}: `{field}` is not a number", place()))?;
            if !value.is_finite() {
                return Err(format!("{}: `{field}` is not a finite number", place()));
            }
            self.values.push(value);
        }
        Ok(())
    }
}

/// A first row in which no field is a number.
fn is_header(record: &StringRecord) -> bool {
    record.iter().all(|field| field.parse::<f64>().is_err())
}

fn label_column(first: &StringRecord, header: Option<&StringRecord>, label: Option<&str>) -> Result<usize, String> {
    if first.len() < 2 {
        return Err(format!("row 1 has {} column; a feature and a label are needed", first.len()));
    }
    let Some(label) = label else { return Ok(first.len() - 1) };
    let header = header.ok_or_else(|| format!("there is no header line to find the label column `{label}` in"))?;
    header.iter().position(|name| name == label).ok_or_else(|| {
        let near = host_callback::did_you_mean(label, header.iter());
        format!("no column is called `{label}`{near}")
    })
}

/// Classes in the order of their labels: by number where all are numbers, else by text.
fn number_classes(labels: &[String]) -> (Vec<i64>, Vec<String>) {
    let mut classes: Vec<String> = labels.to_vec();
    classes.sort_by(|a, b| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        _ => a.cmp(b),
    });
    classes.dedup();
    let numbers: std::collections::HashMap<&str, i64> =
        (0..).zip(&classes).map(|(number, class)| (class.as_str(), number)).collect();
    (labels.iter().map(|label| numbers[label.as_str()]).collect(), classes.clone())
}

fn split(rows: usize, settings: &ClassificationSettings, seed: u64) -> Result<(Vec<usize>, Vec<usize>), String> {
    let kept = (rows as f64 * settings.validation).round() as usize;
    if kept == 0 || kept >= rows {
        return Err(format!("{rows} rows leave {kept} for validation; one at least is needed on each side"));
    }
    let mut order: Vec<usize> = (0..rows).collect();
    if settings.split == Split::Random {
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    }
    let validation = order.split_off(rows - kept);
    Ok((order, validation))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Raw, String> {
        Raw::parse(text.as_bytes(), None)
    }

    #[test]
    fn a_bad_row_names_row_and_column() {
        for (text, message) in [
            ("", "there is no row"),
            ("a,b,label\n", "there is no row"),
            ("1\n2\n", "row 1 has 1 column; a feature and a label are needed"),
            ("a,b,label\n1,2,x\n1,oops,y\n", "row 3, column 2 (`b`): `oops` is not a number"),
            ("1,2,x\n1,nan,y\n", "row 2, column 2: `nan` is not a finite number"),
            ("1,2,x\n1,2\n", "row 2, column 2: 2 columns where the first row has 3"),
            ("1,2,x\n1,2,\n", "row 2, column 3: the label is empty"),
        ] {
            assert_eq!(parse(text).err().as_deref(), Some(message), "{text}");
        }
        let error = Raw::parse(b"a,b,label\n1,2,x\n", Some("lable")).err().unwrap();
        assert_eq!(error, "no column is called `lable`, did you mean `label`?");
    }

    #[test]
    fn classes_are_ordered_by_number_or_text() {
        let labels = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(number_classes(&labels(&["10", "9", "10"])), (vec![1, 0, 1], labels(&["9", "10"])));
        assert_eq!(number_classes(&labels(&["no", "yes"])).1, labels(&["no", "yes"]));
    }
}
