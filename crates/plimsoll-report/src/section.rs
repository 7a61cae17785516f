//! A finding as every writer shows it: a heading, and below it charts, sentences and tables. A chart is drawn in a page alone: what it shows stands
//! in a table or in a verdict, too.

use crate::chart::Figure;

/// A heading, and what stands below it, in order.
pub(crate) struct Section {
    pub(crate) title: String,
    /// Whether it is shown at once where others are folded away.
    pub(crate) open: bool,
    pub(crate) blocks: Vec<Block>,
}

/// A part of a section.
pub(crate) enum Block {
    /// A sentence; one that belongs to the sentence before it is one deeper.
    Sentence {
        text: String,
        depth: usize,
    },
    Table(Table),
    Chart(Figure),
}

/// Rows below the titles of columns.
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
}

/// To which side a column is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A column of a table.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    pub(crate) align: Align,
    /// Which goes first when the table is too wide: the greatest. What has 0 always stays.
    pub(crate) expendable: u8,
}

/// A row of cells, faint where it is there for comparison.
pub(crate) struct Row {
    pub(crate) cells: Vec<String>,
    pub(crate) faint: bool,
}

/// A column of words that always stays.
pub(crate) const fn left(title: &'static str) -> Column {
    Column { title, align: Align::Left, expendable: 0 }
}

/// A column of figures that always stays.
pub(crate) const fn right(title: &'static str) -> Column {
    Column { title, align: Align::Right, expendable: 0 }
}

/// Columns as an array: `left` for words or `right` for figures, a title, and how expendable it is.
macro_rules! columns {
    ($($align:ident $title:expr $(=> $expendable:literal)?),+ $(,)?) => {
        [$($crate::section::$align($title)$(.expendable($expendable))?),+]
    };
}
pub(crate) use columns;

impl Column {
    /// A column that is left out where there is no room for it; the greatest goes first.
    pub(crate) const fn expendable(self, expendable: u8) -> Self {
        Self { expendable, ..self }
    }
}

impl Row {
    pub(crate) fn of(cells: impl Into<Vec<String>>) -> Self {
        Self { cells: cells.into(), faint: false }
    }

    pub(crate) fn faint_if(self, faint: bool) -> Self {
        Self { faint, ..self }
    }
}

impl Section {
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), open: false, blocks: Vec::new() }
    }

    /// The section, open from the start.
    pub(crate) fn opened(self) -> Self {
        Self { open: true, ..self }
    }

    pub(crate) fn chart(mut self, figure: Figure) -> Self {
        self.blocks.push(Block::Chart(figure));
        self
    }

    /// The first of its tables.
    pub(crate) fn first_table(self) -> Option<Table> {
        self.blocks.into_iter().find_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        })
    }

    /// Whether there is anything to read, beside charts.
    pub(crate) fn has_text(&self) -> bool {
        self.blocks.iter().any(|block| !matches!(block, Block::Chart(_)))
    }

    pub(crate) fn say(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Sentence { text: text.into(), depth: 0 });
        self
    }

    /// A sentence that belongs to the one before it.
    pub(crate) fn add(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(Block::Sentence { text: text.into(), depth: 1 });
        self
    }

    pub(crate) fn say_all(self, texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        texts.into_iter().fold(self, Self::say)
    }

    /// Adds a table, unless it has no rows.
    pub(crate) fn table(
        mut self,
        columns: impl Into<Vec<Column>>,
        rows: impl IntoIterator<Item = Row>,
    ) -> Self {
        let rows: Vec<Row> = rows.into_iter().collect();
        if !rows.is_empty() {
            self.blocks.push(Block::Table(Table { columns: columns.into(), rows }));
        }
        self
    }
}

impl Table {
    /// The columns that have something in any row.
    pub(crate) fn used(&self) -> Vec<usize> {
        let has = |column: &usize| self.rows.iter().any(|row| !row.cells[*column].is_empty());
        (0..self.columns.len()).filter(has).collect()
    }
}
