//! The contract as a page for people, made from its WIT: every interface, type and function with its words.
//!
//! It checks nothing. Main function: [`page`].

use std::fmt::Write as _;

use wit_parser::{Docs, Function, Interface, Resolve, Type, TypeDef, TypeDefKind, World, WorldItem, WorldKey};

/// The page of a contract's text.
///
/// # Panics
///
/// The text is no WIT.
#[must_use]
pub fn page(wit: &str) -> String {
    let mut resolve = Resolve::default();
    let package = resolve.push_source("callback.wit", wit).expect("the contract is WIT");
    let package = &resolve.packages[package];
    let mut text = format!(
        "# The contract, item by item\n\nPackage `{}`. Made from its WIT by a test; a released version never changes.\n",
        package.name
    );
    for world in package.worlds.values() {
        write_world(&mut text, &resolve, &resolve.worlds[*world]);
    }
    for (name, interface) in &package.interfaces {
        write_interface(&mut text, &resolve, name, &resolve.interfaces[*interface]);
    }
    text
}

fn say(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a String takes everything");
}

/// Words as they stand in a paragraph; line breaks of the source are none.
fn words(docs: &Docs) -> String {
    docs.contents.as_deref().unwrap_or_default().trim().to_owned()
}

/// The same in one line, as a cell of a table.
fn cell(docs: &Docs) -> String {
    words(docs).split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn write_world(text: &mut String, resolve: &Resolve, world: &World) {
    say(text, &format!("\n## World `{}`\n\n{}\n", world.name, words(&world.docs)));
    let name = |key: &WorldKey| match key {
        WorldKey::Name(name) => name.clone(),
        WorldKey::Interface(id) => resolve.interfaces[*id].name.clone().unwrap_or_default(),
    };
    let kind = |item: &WorldItem| match item {
        WorldItem::Interface { .. } => "interface",
        WorldItem::Function(_) => "function",
        WorldItem::Type { .. } => "type",
    };
    say(text, "| | |\n| --- | --- |");
    for (title, items) in [("imports", &world.imports), ("exports", &world.exports)] {
        let items: Vec<String> = items.iter().map(|(key, item)| format!("{} `{}`", kind(item), name(key))).collect();
        say(text, &format!("| {title} | {} |", items.join(", ")));
    }
}

fn write_interface(text: &mut String, resolve: &Resolve, name: &str, interface: &Interface) {
    say(text, &format!("\n## Interface `{name}`\n\n{}", words(&interface.docs)));
    for (name, id) in &interface.types {
        write_type(text, resolve, name, &resolve.types[*id]);
    }
    for function in interface.functions.values() {
        write_function(text, resolve, function);
    }
}

fn write_type(text: &mut String, resolve: &Resolve, name: &str, def: &TypeDef) {
    // `use` of another interface's type has its words there.
    if let TypeDefKind::Type(Type::Id(_)) = def.kind {
        return;
    }
    say(text, &format!("\n### {} `{name}`\n\n{}", def.kind.as_str(), words(&def.docs)));
    let rows: Vec<[String; 3]> = match &def.kind {
        TypeDefKind::Record(record) => {
            let row = |field: &wit_parser::Field| [field.name.clone(), ty(resolve, &field.ty), cell(&field.docs)];
            record.fields.iter().map(row).collect()
        }
        TypeDefKind::Variant(variant) => {
            let of = |case: &wit_parser::Case| case.ty.as_ref().map(|it| ty(resolve, it)).unwrap_or_default();
            variant.cases.iter().map(|case| [case.name.clone(), of(case), cell(&case.docs)]).collect()
        }
        TypeDefKind::Enum(choice) => {
            choice.cases.iter().map(|case| [case.name.clone(), String::new(), cell(&case.docs)]).collect()
        }
        TypeDefKind::Flags(flags) => {
            flags.flags.iter().map(|flag| [flag.name.clone(), String::new(), cell(&flag.docs)]).collect()
        }
        TypeDefKind::Type(other) => {
            say(text, &format!("\nAnother name of `{}`.", ty(resolve, other)));
            return;
        }
        _ => return,
    };
    say(text, "\n| | | |\n| --- | --- | --- |");
    for [name, of, docs] in rows {
        let of = if of.is_empty() { of } else { format!("`{of}`") };
        say(text, &format!("| `{name}` | {of} | {docs} |"));
    }
}

fn write_function(text: &mut String, resolve: &Resolve, function: &Function) {
    let params: Vec<String> =
        function.params.iter().map(|param| format!("{}: {}", param.name, ty(resolve, &param.ty))).collect();
    let result = function.result.as_ref().map(|it| format!(" -> {}", ty(resolve, it))).unwrap_or_default();
    say(
        text,
        &format!("\n### `{}`\n\n```wit\n{}: func({}){result}\n```\n", function.name, function.name, params.join(", ")),
    );
    say(text, &words(&function.docs));
}

/// A type as WIT writes it.
fn ty(resolve: &Resolve, of: &Type) -> String {
    let id = match of {
        Type::Id(id) => *id,
        Type::Bool => return "bool".into(),
        Type::String => return "string".into(),
        Type::Char => return "char".into(),
        Type::ErrorContext => return "error-context".into(),
        number => return format!("{number:?}").to_lowercase(),
    };
    let def = &resolve.types[id];
    if let Some(name) = &def.name {
        return name.clone();
    }
    let inner = |of: &Type| ty(resolve, of);
    let or_nothing = |of: &Option<Type>| of.as_ref().map_or("_".to_owned(), inner);
    match &def.kind {
        TypeDefKind::List(of) => format!("list<{}>", inner(of)),
        TypeDefKind::Option(of) => format!("option<{}>", inner(of)),
        TypeDefKind::Tuple(tuple) => format!("tuple<{}>", tuple.types.iter().map(inner).collect::<Vec<_>>().join(", ")),
        TypeDefKind::Result(result) => match (&result.ok, &result.err) {
            (None, None) => "result".into(),
            (ok, None) => format!("result<{}>", or_nothing(ok)),
            (ok, err) => format!("result<{}, {}>", or_nothing(ok), or_nothing(err)),
        },
        other => other.as_str().into(),
    }
}
