//! A table of Apache Parquet, with the columns of [`csv`](super::csv()) and types for numbers.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::table::{Cell, Table};

/// Rows of a row group, which is what stays in memory: readers skip whole groups.
const GROUP: usize = 1 << 16;

/// Writes the rows of a table; what a row does not have is null.
///
/// # Errors
/// When `out` cannot be written to.
pub fn parquet(out: &mut dyn Write, table: &dyn Table) -> io::Result<()> {
    let mut columns = Columns::new(table);
    let mut file = columns.file().map_err(io::Error::other)?;
    table.rows(&mut |cells| {
        columns.add(cells);
        if columns.rows == GROUP { columns.flush(&mut file).map_err(io::Error::other) } else { Ok(()) }
    })?;
    if columns.rows > 0 {
        columns.flush(&mut file).map_err(io::Error::other)?;
    }
    out.write_all(&file.into_inner().map_err(io::Error::other)?)
}

/// The values of a column that were not written yet.
enum Values {
    Text(Vec<Option<ByteArray>>),
    Count(Vec<Option<i32>>),
    Number(Vec<Option<f64>>),
}

struct Columns {
    names: Vec<String>,
    values: Vec<Values>,
    rows: usize,
}

impl Columns {
    fn new(table: &dyn Table) -> Self {
        let empty = |cell| match cell {
            Cell::Text(_) => Values::Text(Vec::new()),
            Cell::Count(_) => Values::Count(Vec::new()),
            Cell::Number(_) => Values::Number(Vec::new()),
        };
        let columns = table.columns().into_iter();
        let (names, values) = columns.map(|(name, cell)| (name.to_owned(), empty(cell))).unzip();
        Self { names, values, rows: 0 }
    }

    /// A file in memory, with these columns.
    fn file(&self) -> Result<SerializedFileWriter<Vec<u8>>, ParquetError> {
        let fields = self.names.iter().zip(&self.values).map(|(name, values)| {
            let (physical, logical) = match values {
                Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                Values::Count(_) => (Physical::INT32, None),
                Values::Number(_) => (Physical::DOUBLE, None),
            };
            let field = Type::primitive_type_builder(name, physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(logical);
            field.build().map(Arc::new)
        });
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("row").with_fields(fields).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))
    }

    fn add(&mut self, cells: &[Cell<'_>]) {
        for (column, cell) in self.values.iter_mut().zip(cells) {
            match (column, cell) {
                (Values::Text(column), Cell::Text(text)) => column.push(text.map(ByteArray::from)),
                (Values::Count(column), Cell::Count(count)) => {
                    column.push(count.and_then(|count| i32::try_from(count).ok()));
                }
                (Values::Number(column), Cell::Number(number)) => column.push(*number),
                _ => unreachable!("cells stand in the order of the columns"),
            }
        }
        self.rows += 1;
    }

    /// Writes what is there as a row group.
    fn flush(&mut self, file: &mut SerializedFileWriter<Vec<u8>>) -> Result<(), ParquetError> {
        let mut group = file.next_row_group()?;
        for values in &mut self.values {
            // A group has a column for each of the file's, in their order.
            let Some(column) = group.next_column()? else { break };
            match values {
                Values::Text(values) => write::<ByteArrayType>(column, values)?,
                Values::Count(values) => write::<Int32Type>(column, values)?,
                Values::Number(values) => write::<DoubleType>(column, values)?,
            }
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

/// Values that are there, and for each row whether it has one.
fn write<T: parquet::data_type::DataType>(
    mut column: SerializedColumnWriter<'_>,
    values: &mut Vec<Option<T::T>>,
) -> Result<(), ParquetError> {
    let there: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.drain(..).flatten().collect();
    column.typed::<T>().write_batch(&present, Some(&there), None)?;
    column.close()
}
