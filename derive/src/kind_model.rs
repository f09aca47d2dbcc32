//! Kinds: what an enum of handles means.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Fields, GenericParam, Ident, Lifetime, Type, Visibility};

use crate::attribute_syntax;
use crate::errors::Errors;
use crate::names;
use crate::types;

const ENUM_KEYS: &[&str] = &["fields", "hooks", "kind", "crate"];

/// A kind.
pub(crate) struct KindModel {
    pub(crate) ident: Ident,
    pub(crate) visibility: Visibility,
    /// The path of the `permazen` crate.
    pub(crate) krate: TokenStream,
    /// The lifetime of the handles.
    pub(crate) lifetime: Option<Lifetime>,
    /// The name of the type that stands for the kind, such as `PetKind`.
    pub(crate) kind: Ident,
    /// The mix-in that all members have.
    pub(crate) fields: Option<Type>,
    /// Whether the enum says that it has hooks.
    pub(crate) hooks: bool,
    pub(crate) members: Vec<Member>,
    /// Whether there are variants that are no members, because of mistakes.
    pub(crate) is_partial: bool,
}

pub(crate) struct Member {
    pub(crate) variant: Ident,
    /// The handle.
    pub(crate) ty: Type,
}

/// The model of an enum, as far as it makes sense, and all its mistakes.
pub(crate) fn parse(input: &DeriveInput) -> (KindModel, Errors) {
    let mut errors = Errors::default();
    let span = names::here(input.ident.span());
    let mut model = KindModel {
        ident: input.ident.clone(),
        visibility: input.vis.clone(),
        krate: quote!(::permazen),
        lifetime: None,
        kind: format_ident!("{}Kind", input.ident.unraw(), span = span),
        fields: None,
        hooks: false,
        members: Vec::new(),
        is_partial: false,
    };
    for item in attribute_syntax::permazen_items(&input.attrs, &[], &mut errors) {
        match item.key.to_string().as_str() {
            "fields" => model.fields = errors.note(item.ty()),
            "hooks" => model.hooks = item.flag(&mut errors),
            "kind" => {
                model.kind = errors.note(item.type_name()).unwrap_or(model.kind);
            }
            "crate" => {
                let krate = errors.note(attribute_syntax::crate_path(&item));
                model.krate = krate.unwrap_or(model.krate);
            }
            _ => errors.push(item.unknown("a kind", ENUM_KEYS)),
        }
    }
    match input.generics.params.iter().collect::<Vec<_>>()[..] {
        [GenericParam::Lifetime(parameter)] => model.lifetime = Some(parameter.lifetime.clone()),
        _ => {
            let message = format!(
                "the objects of a kind live as long as their transaction: `enum {}<'t>`, and `Obj<'t, Model>` in its \
                 variants",
                input.ident
            );
            errors.at(&input.ident, message);
        }
    }
    let Data::Enum(data) = &input.data else {
        errors.at(&input.ident, "a kind is an enum with a variant for each of its models");
        return (model, errors);
    };
    if data.variants.is_empty() {
        errors.at(&input.ident, "a kind has at least one member: `Dog(Obj<'t, Dog>)`");
    }
    for variant in &data.variants {
        attribute_syntax::permazen_items(&variant.attrs, &[], &mut errors)
            .iter()
            .for_each(|item| errors.at(&item.key, "a member of a kind has no attributes"));
        match &variant.fields {
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                let Some(field) = fields.unnamed.first() else { continue };
                member(&variant.ident, &field.ty, &mut model, &mut errors);
            }
            _ => {
                let name = &variant.ident;
                let message =
                    format!("a variant has the handle of its model: `{name}(Obj<'t, {name}>)`");
                errors.at(variant, message);
                model.is_partial = true;
            }
        }
    }
    (model, errors)
}

fn member(variant: &Ident, ty: &Type, model: &mut KindModel, errors: &mut Errors) {
    let text = |ty: &Type| ty.to_token_stream().to_string();
    // The same handle in two variants would leave it open which one an object gets.
    if let Some(other) = model.members.iter().find(|other| text(&other.ty) == text(ty)) {
        let message = format!("`{variant}` and `{}` are the same type", other.variant);
        errors.at(ty, message);
        model.is_partial = true;
        return;
    }
    // Without a lifetime, the code would have a mistake in each place that names the type.
    if let (Some(lifetime), Some((name, _))) = (&model.lifetime, types::last_segment(ty))
        && (name == "AnyObj" || !mentions(ty.to_token_stream(), lifetime))
    {
        // The compiler says what to write for a handle.
        if name != "Obj" {
            let message = format!(
                "a member of a kind is a handle: `Obj<{lifetime}, Model>`, or the enum of another kind, \
                 `Other<{lifetime}>`"
            );
            errors.at(ty, message);
        }
        model.is_partial = true;
        return;
    }
    model.members.push(Member { variant: variant.clone(), ty: ty.clone() });
}

/// Whether a lifetime occurs in `tokens`.
fn mentions(tokens: TokenStream, lifetime: &Lifetime) -> bool {
    let mut quoted = false;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if quoted && ident == lifetime.ident => return true,
            TokenTree::Group(group) if mentions(group.stream(), lifetime) => return true,
            TokenTree::Punct(punct) => {
                quoted = punct.as_char() == '\'';
                continue;
            }
            _ => {}
        }
        quoted = false;
    }
    false
}
