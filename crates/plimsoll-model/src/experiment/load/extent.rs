//! How much of a load is carried out.

/// What is asked of a load whose extent is a number of something, or a duration.
macro_rules! by_count_or_time {
    ($count:ident) => {
        fn part(&self, place: u32, number: u32) -> LoadKind {
            let $count = self.$count.map(|all| share(all, place, number));
            let duration = self.duration.map(|all| Span(all.0 / number));
            Self { $count, duration, ..self.clone() }.into()
        }

        fn window(&self, operations: u64) -> LoadKind {
            Self { $count: Some(operations), duration: None, ..self.clone() }.into()
        }

        fn lasting(&self, duration: Span) -> LoadKind {
            Self { $count: None, duration: Some(duration), ..self.clone() }.into()
        }

        fn lasts(&self) -> Option<Span> {
            self.duration
        }
    };
}
