//! `#[permazen::hooks]`: a block of functions that are called when objects change.
//!
//! The block is one of a model, of a mix-in or of a kind. It stays as it is, without the attributes
//! of its hooks. Beside it, each hook becomes one declaration, whose closure calls the function.
//! The compiler checks the arguments there, at the types that the function names.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::parse_quote;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Expr, FnArg, GenericParam, Ident, ImplItem, ImplItemFn, ItemImpl, Meta, ReturnType,
    Token, Type,
};

use crate::attribute_syntax::{self as attributes, Item};
use crate::errors::Errors;
use crate::hook_owner::{self, Owner};
use crate::names;

pub(crate) const EVENTS: [&str; 5] =
    ["on_create", "on_delete", "on_change", "on_schema_change", "on_validate"];

/// The block, and the declarations of its hooks.
pub(crate) fn expand(attribute: &TokenStream, mut block: ItemImpl) -> TokenStream {
    let mut errors = Errors::default();
    let krate = crate_path(attribute, &mut errors);
    let name = owner(&block, &mut errors);
    let owner = Owner::of(&block.self_ty, name, &quote!(#krate::__private));
    let mut hooks =
        Hooks { m: quote!(#krate::__private), owner, decls: Vec::new(), moves: Vec::new() };
    for item in &mut block.items {
        if let ImplItem::Fn(function) = item {
            hooks.take(function, &mut errors);
        }
    }
    let errors = errors.into_compile_errors();
    // The block of a trait stands beside the right one.
    let declarations =
        block.trait_.is_none().then(|| hooks.implementation(&block.self_ty, errors.is_some()));
    quote! {
        #errors
        #block
        #declarations
    }
}

/// The value of `crate = "path"`, or `::permazen`.
fn crate_path(attribute: &TokenStream, errors: &mut Errors) -> TokenStream {
    let mut krate = quote!(::permazen);
    for item in attributes::items(attribute, &[], errors) {
        if item.is("crate") {
            krate = errors.note(attributes::crate_path(&item)).unwrap_or(krate);
        } else {
            errors.push(item.unknown("a block of hooks", &["crate"]));
        }
    }
    krate
}

/// The name of the struct or enum, for errors at run time.
fn owner(block: &ItemImpl, errors: &mut Errors) -> String {
    if let Some((path, _)) = &block.trait_ {
        errors.at(path, "hooks are in a block of the struct itself: `impl Person { … }`");
    }
    let generic = |it: &GenericParam| !matches!(it, GenericParam::Lifetime(_));
    if block.generics.params.iter().any(generic) {
        errors.at(&block.generics, "a block of hooks is not generic; a generic struct has aliases, and each has a block: `impl PersonNote { … }`");
    }
    match crate::types::last_segment(&block.self_ty) {
        Some((name, _)) => name,
        None => {
            errors.at(&block.self_ty, "expected the name of a struct");
            String::new()
        }
    }
}

/// The declarations of a block.
struct Hooks {
    m: TokenStream,
    owner: Owner,
    decls: Vec<TokenStream>,
    /// The calls of the functions with `#[on_schema_change]`.
    moves: Vec<TokenStream>,
}

/// A function of the block that is a hook.
struct Function<'f> {
    name: &'f Ident,
    cfgs: Vec<&'f Attribute>,
    /// The types of the parameters.
    parameters: Vec<&'f Type>,
    /// Where the compiler reports a wrong return type.
    returned: Span,
}

impl Hooks {
    /// Takes the attributes of hooks off a function, and adds a declaration for each.
    fn take(&mut self, function: &mut ImplItemFn, errors: &mut Errors) {
        let (events, mut others): (Vec<_>, Vec<_>) = std::mem::take(&mut function.attrs)
            .into_iter()
            .partition(|attribute| event(attribute).is_some());
        // It is reported and left out, or the compiler would report it again.
        others.retain(|attribute| !is_unknown(attribute, errors));
        function.attrs = others;
        if events.is_empty() {
            return;
        }
        // The author of a hook does not choose its signature.
        function.attrs.push(parse_quote!(#[allow(clippy::unnecessary_wraps)]));
        let Some(parsed) = signature(function, errors) else { return };
        for attribute in &events {
            let Some(event) = event(attribute) else { continue };
            let items = match &attribute.meta {
                Meta::Path(_) => Vec::new(),
                Meta::List(list) => attributes::items(&list.tokens, &[], errors),
                Meta::NameValue(value) => {
                    errors.at(value, format!("expected `#[{event}]` or `#[{event}(…)]`"));
                    continue;
                }
            };
            match event.as_str() {
                "on_create" => self.on_create(attribute, &parsed, &items, errors),
                "on_delete" => self.on_delete(attribute, &parsed, &items, errors),
                "on_change" => self.on_change(attribute, &parsed, &items, errors),
                "on_validate" => self.on_validate(attribute, &parsed, &items, errors),
                _ => self.on_schema_change(attribute, &parsed, &items, errors),
            }
        }
    }

    fn on_create(
        &mut self,
        at: &Attribute,
        function: &Function<'_>,
        items: &[Item],
        errors: &mut Errors,
    ) {
        nothing(items, "`#[on_create]`", errors);
        if let [this] = function.parameters[..] {
            let call = self.call(function, &[self.this(this)]);
            self.declare(function, &quote!(on_create), None, &call);
        } else {
            let this = self.owner.this();
            errors.at(at, format!("a hook with `#[on_create]` has one parameter: {this}"));
        }
    }

    fn on_delete(
        &mut self,
        at: &Attribute,
        function: &Function<'_>,
        items: &[Item],
        errors: &mut Errors,
    ) {
        let mut path = None;
        for item in items {
            match item.key.to_string().as_str() {
                "path" => path = errors.note(item.expression()),
                _ => errors.push(item.unknown("`#[on_delete]`", &["path"])),
            }
        }
        match (path, &function.parameters[..]) {
            (None, [this]) => {
                let call = self.call(function, &[self.this(this)]);
                self.declare(function, &quote!(on_delete), None, &call);
            }
            (Some(path), [this, gone]) => {
                let span = names::here(path.span());
                let m = names::located(&self.m, span);
                // The check is at the type of the parameter, where the mistake is.
                let ends = quote_spanned!(span=> <_ as #m::EndsAt<<#gone as #m::Member<'_>>::Of>>::ends(&__path););
                let route = self.route(&path, &ends);
                let span = names::here(gone.span());
                let m = names::located(&self.m, span);
                let deleted = quote_spanned!(span=> #m::Told::deleted(__told)?);
                let call = self.call(function, &[self.this(this), deleted]);
                self.declare(function, &quote!(on_delete_along), Some(&quote!(#route,)), &call);
            }
            (None, _) => {
                let this = self.owner.this();
                errors.at(at, format!("a hook with `#[on_delete]` has one parameter: {this}"));
            }
            (Some(_), _) => {
                let message = format!(
                    "a hook with `#[on_delete(path = …)]` has two parameters: {}, and the object that is about to be \
                     deleted: `gone: Obj<'_, Account>`",
                    self.owner.this()
                );
                errors.at(at, message);
            }
        }
    }

    /// The code that makes the route along a path, after these checks of `__path`.
    fn route(&self, path: &Expr, checks: &TokenStream) -> TokenStream {
        let span = names::here(path.span());
        let (m, subject) = (names::located(&self.m, span), &self.owner.subject);
        quote_spanned! {span=>
            || {
                let __path = #path;
                #checks
                <_ as #m::BeginsAt<#subject>>::route(&__path)
            }
        }
    }

    fn on_change(
        &mut self,
        at: &Attribute,
        function: &Function<'_>,
        items: &[Item],
        errors: &mut Errors,
    ) {
        let m = &self.m;
        let (mut named, mut except, mut path, mut of) = (None, None, None, None);
        for item in items {
            match item.key.to_string().as_str() {
                "fields" => named = errors.note(self.fields(item)),
                "except" => except = errors.note(self.fields(item)),
                "path" => path = errors.note(item.expression()),
                "of" => of = errors.note(constants(item)),
                _ => {
                    let known = ["fields", "except", "path", "of"];
                    errors.push(item.unknown("`#[on_change]`", &known));
                }
            }
            if named.is_some() && except.is_some() {
                errors.at(&item.key, "`fields` and `except` exclude each other");
            }
            if (named.is_some() || except.is_some()) && (path.is_some() || of.is_some()) {
                let message = "`fields` and `except` name fields of the struct; with `path`, name those of the \
                               objects to which it leads: `of = Account::BALANCE`";
                errors.at(&item.key, message);
            }
        }
        match (path, of) {
            (None, None) => {}
            (None, Some(of)) => {
                let message =
                    "say which objects are observed: `path = Path::of::<Self>().to(Self::ACCOUNT)`";
                errors.at(quote!(#(#of)*), message);
                return;
            }
            (Some(path), of) => {
                self.on_change_along(at, function, &path, &of.unwrap_or_default(), errors);
                return;
            }
        }
        // Without a list of fields, a hook watches all but those that are excepted.
        let watched = named.clone().unwrap_or_else(|| except.unwrap_or_default());
        let positions = self.positions(&watched, "Watched");
        let constructor = if named.is_some() { quote!(on_change) } else { quote!(on_other_change) };
        let call = match function.parameters[..] {
            [this] => self.call(function, &[self.this(this)]),
            [this, change] => {
                // The argument gets the span of the parameter: there a wrong type is reported.
                let span = names::here(change.span());
                let (located, subject) = (names::located(m, span), &self.owner.subject);
                let checks = match &named {
                    Some(fields) => fields
                        .iter()
                        .map(|field| quote_spanned!(span=> #located::IsChangeOf::fits(&__change, #field);))
                        .collect(),
                    None => quote_spanned!(span=> <_ as #located::IsAnyChangeOf<#subject>>::fits_all(&__change);),
                };
                // A hook may take the change itself or a reference to it.
                let given = match crate::types::unparenthesized(change) {
                    Type::Reference(_) => quote_spanned!(span=> &__change),
                    _ => quote_spanned!(span=> __change),
                };
                let call = self.call(function, &[self.this(this), given]);
                quote_spanned! {span=>
                    let __change = #located::FromChange::told(__told)?;
                    #checks
                    #call
                }
            }
            _ => {
                let of = if self.owner.is_kind { "PetKind" } else { "Self" };
                let message = format!(
                    "a hook with `#[on_change]` has one or two parameters: {}, and, if it asks for it, the change: \
                     `change: &Changed<'_, {of}, i32>`",
                    self.owner.this()
                );
                errors.at(at, message);
                return;
            }
        };
        self.declare(function, &constructor, Some(&positions), &call);
    }

    /// `fields(a, mixin.b)`: the constants of fields, `Self::A` and `Self::MIXIN.b`;
    /// `PetKind::MIXIN.b` of a kind.
    fn fields(&self, item: &Item) -> syn::Result<Vec<TokenStream>> {
        type Path = Punctuated<Ident, Token![.]>;
        let list = item.list()?.clone();
        let field = Path::parse_separated_nonempty;
        let parser = |input: ParseStream<'_>| input.parse_terminated(field, Token![,]);
        let expected = |at: &dyn ToTokens| {
            let key = &item.key;
            let message = format!("expected the names of fields: `{key}(a, b)`");
            syn::Error::new_spanned(at.to_token_stream(), message)
        };
        let fields = parser.parse2(list.clone()).map_err(|_| expected(&list))?;
        if fields.is_empty() {
            return Err(expected(&item.key));
        }
        let constant = |path: &Path| {
            let mut names = path.iter();
            let first = names.next()?;
            let constant = names::constant(&first.unraw().to_string(), first.span());
            let subject = names::everywhere(&self.owner.subject, constant.span());
            // A type in the middle of a path must be in angle brackets.
            let subject = match self.owner.is_kind {
                true => quote_spanned!(constant.span()=> <#subject>),
                false => subject,
            };
            Some(quote_spanned!(constant.span()=> #subject::#constant #(.#names)*))
        };
        Ok(fields.iter().filter_map(constant).collect())
    }

    fn on_change_along(
        &mut self,
        at: &Attribute,
        function: &Function<'_>,
        path: &Expr,
        of: &[Expr],
        errors: &mut Errors,
    ) {
        let m = &self.m;
        let spot = names::here(path.span());
        let here = names::located(m, spot);
        let mut checks: TokenStream = of
            .iter()
            .map(|field| quote_spanned!(spot=> #here::IsAtEndOf::at_end(#field, &__path);))
            .collect();
        let call = match function.parameters[..] {
            [this] => self.call(function, &[self.this(this)]),
            [this, change] => {
                let span = names::here(change.span());
                let located = names::located(m, span);
                let (bare, given) = match crate::types::unparenthesized(change) {
                    Type::Reference(reference) => {
                        (&*reference.elem, quote_spanned!(span=> &__change))
                    }
                    bare => (bare, quote_spanned!(span=> __change)),
                };
                // Without a field, the hook is told of all fields at the end of the path.
                if of.is_empty() {
                    checks.extend(quote_spanned! {span=>
                        <_ as #located::TellsAllChangesAs<#bare>>::tells(&__path);
                    });
                }
                let call = self.call(function, &[self.this(this), given]);
                quote_spanned! {span=>
                    let __change = #located::FromChange::told(__told)?;
                    #(#located::IsChangeOf::fits(&__change, #of);)*
                    #call
                }
            }
            _ => {
                let message = format!(
                    "a hook with `#[on_change(path = …)]` has one or two parameters: {}, and, if it asks for it, the \
                     change: `change: &Changed<'_, Account, i64>`",
                    self.owner.this()
                );
                errors.at(at, message);
                return;
            }
        };
        let route = self.route(path, &checks);
        let fields = of.iter().map(|field| {
            let span = names::here(field.span());
            let m = names::located(m, span);
            quote_spanned!(span=> || #m::WatchedAt::of(#field))
        });
        let values = quote!(#route, &[#(#fields),*],);
        self.declare(function, &quote!(on_change_along), Some(&values), &call);
    }

    fn on_validate(
        &mut self,
        at: &Attribute,
        function: &Function<'_>,
        items: &[Item],
        errors: &mut Errors,
    ) {
        let mut named = None;
        for item in items {
            match item.key.to_string().as_str() {
                "fields" => named = errors.note(self.fields(item)),
                _ => errors.push(item.unknown("`#[on_validate]`", &["fields"])),
            }
        }
        let [this] = function.parameters[..] else {
            let this = self.owner.this();
            errors.at(at, format!("a hook with `#[on_validate]` has one parameter: {this}"));
            return;
        };
        let call = self.call(function, &[self.this(this)]);
        match named {
            Some(fields) => {
                let positions = self.positions(&fields, "Checked");
                self.declare(function, &quote!(on_validate_of), Some(&positions), &call);
            }
            None => self.declare(function, &quote!(on_validate), None, &call),
        }
    }

    /// The positions of fields, which the trait of this name gives.
    fn positions(&self, fields: &[TokenStream], of: &str) -> TokenStream {
        let positions = fields.iter().map(|field| {
            let span = field.span();
            let m = names::located(&self.m, span);
            let of = Ident::new(of, span);
            quote_spanned!(span=> || #m::#of::position(#field))
        });
        quote!(&[#(#positions),*],)
    }

    fn on_schema_change(
        &mut self,
        at: &Attribute,
        function: &Function<'_>,
        items: &[Item],
        errors: &mut Errors,
    ) {
        nothing(items, "`#[on_schema_change]`", errors);
        if self.owner.is_kind {
            let message = "an object moves to the schema of its model: write the function in the block of hooks of \
                           each model";
            errors.at(at, message);
            return;
        }
        let [old, new] = function.parameters[..] else {
            let message = "a hook with `#[on_schema_change]` has two parameters: `old: &OldValues<'_>` and \
                           `new: &mut NewValues<'_, '_, Self>`";
            errors.at(at, message);
            return;
        };
        let (old, new) = (names::here(old.span()), names::here(new.span()));
        let m = names::located(&self.m, new);
        let old = quote_spanned!(old=> __old);
        let new = quote_spanned!(new=> &mut <Self as #m::HooksOfModel>::new_values(__to));
        let (name, cfgs, m) = (function.name, &function.cfgs, &self.m);
        // The error of the function, which is one of this crate, is returned as it is.
        let result = names::located(m, function.returned);
        let span = function.returned;
        self.moves.push(quote_spanned! {span=>
            #(#cfgs)*
            {
                let __returned: #result::Result<()> = Self::#name(#old, #new);
                __returned?;
            }
        });
    }

    /// The object for which a hook is called, as the argument for a parameter of this type.
    fn this(&self, parameter: &Type) -> TokenStream {
        let span = names::here(parameter.span());
        let (m, subject) = (names::located(&self.m, span), &self.owner.subject);
        quote_spanned!(span=> #m::Told::this::<#subject>(__told)?)
    }

    /// The call of a function, with the outcome of the hook as its value.
    fn call(&self, function: &Function<'_>, arguments: &[TokenStream]) -> TokenStream {
        let span = function.returned;
        let m = names::located(&self.m, span);
        let functions = names::everywhere(&self.owner.functions, span);
        let name = function.name;
        quote_spanned! {span=>
            #m::Returned::outcome({
                use #m::AsReturned as __AsReturned;
                // Used also where the method that the call finds is not that of the trait. To allow
                // an unused import would be an error in a program that forbids these.
                const _: fn(#m::Given<()>) = <#m::Given<()> as __AsReturned>::__permazen_returned;
                #m::Given(#functions::#name(#(#arguments),*)).__permazen_returned()
            })
        }
    }

    fn declare(
        &mut self,
        function: &Function<'_>,
        constructor: &TokenStream,
        fields: Option<&TokenStream>,
        call: &TokenStream,
    ) {
        let (m, cfgs) = (&self.m, &function.cfgs);
        let name = format!("{}::{}", self.owner.name, function.name.unraw());
        self.decls.push(quote! {
            #(#cfgs)*
            #m::HookDecl::#constructor(
                #name,
                #fields
                |__told: &#m::Told<'_>| -> #m::Outcome { #call },
            )
        });
    }

    /// The implementation that the struct refers to. If there are mistakes, it is empty.
    fn implementation(&self, owner: &Type, mistakes: bool) -> TokenStream {
        let m = names::located(&self.m, names::here(owner.span()));
        let Hooks { decls, moves, .. } = self;
        // With mistakes, the closures might not compile, and the mistakes are told already.
        let (decls, moves): (&[_], &[_]) = if mistakes { (&[], &[]) } else { (decls, moves) };
        let upgrade_with = if moves.is_empty() {
            quote!(::core::option::Option::None)
        } else {
            quote! {
                ::core::option::Option::Some(
                    |__old: &#m::OldValues<'_>, __to: &mut #m::ObjectWriter<'_>| -> #m::Result<()> {
                        #(#moves)*
                        ::core::result::Result::Ok(())
                    },
                )
            }
        };
        let span = names::here(owner.span());
        // The block may name its lifetime, which the implementation does not have.
        let owner = hook_owner::with_any_lifetime(owner);
        quote_spanned! {span=>
            #[automatically_derived]
            #[allow(deprecated)]
            impl #m::Hooks for #owner {
                const DECLS: &'static [#m::HookDecl] = &[#(#decls),*];
                const UPGRADE_WITH: ::core::option::Option<#m::UpgradeWith> = #upgrade_with;
            }
        }
    }
}

/// The name of the event, if this is the attribute of a hook.
fn event(attribute: &Attribute) -> Option<String> {
    let name = attribute.path().get_ident()?.to_string();
    EVENTS.contains(&&*name).then_some(name)
}

/// Whether an attribute looks like one of a hook, and is none. Reports it.
fn is_unknown(attribute: &Attribute, errors: &mut Errors) -> bool {
    if attribute.path().is_ident("cfg_attr") {
        // The compiler evaluates it only after this macro.
        let tokens = attribute.meta.require_list().map(|list| list.tokens.to_string());
        let event = EVENTS.iter().find(|event| {
            let mut words = tokens.iter().flat_map(|it| it.split(|it: char| !is_of_word(it)));
            words.any(|word| word == **event)
        });
        if let Some(event) = event {
            let message = format!(
                "write `#[cfg(…)] #[{event}]`: the method is then compiled under this condition only"
            );
            errors.at(attribute, message);
        }
        // A `cfg_attr` of another attribute is left alone.
        return event.is_some();
    }
    let Some(name) = attribute.path().get_ident() else { return false };
    // Other attributes are none of ours, so only what looks like a hook is reported.
    let is_unknown = name.to_string().starts_with("on_");
    if is_unknown {
        let known = EVENTS.map(|event| format!("`#[{event}]`")).join(", ");
        errors.at(attribute, format!("there is no hook `#[{name}]`; known are {known}"));
    }
    is_unknown
}

fn is_of_word(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

/// The signature of a function, for its declaration; `None` after reporting a mistake.
fn signature<'f>(function: &'f ImplItemFn, errors: &mut Errors) -> Option<Function<'f>> {
    let signature = &function.sig;
    let mut mistake = |at: &dyn ToTokens, message: &str| {
        errors.at(at.to_token_stream(), message);
        None
    };
    if let Some(asyncness) = &signature.asyncness {
        return mistake(
            asyncness,
            "a hook runs inside the operation of which it is told: it cannot be `async`",
        );
    }
    if let Some(parameter) = signature.generics.type_params().next() {
        return mistake(parameter, "a hook has no type parameters");
    }
    if let Some(parameter) = signature.generics.const_params().next() {
        return mistake(parameter, "a hook has no const parameters");
    }
    let mut parameters = Vec::new();
    for input in &signature.inputs {
        match input {
            FnArg::Typed(input) => parameters.push(&*input.ty),
            FnArg::Receiver(this) => {
                let message = "the struct is plain data, and a hook works with an object: write `this: Obj<'_, Self>`";
                return mistake(this, message);
            }
        }
    }
    let returned = match &signature.output {
        ReturnType::Type(_, ty) => names::here(ty.span()),
        ReturnType::Default => {
            return mistake(&signature.ident, "a hook returns a result: `-> permazen::Result<()>`");
        }
    };
    // A hook that is not compiled must not be declared.
    let cfgs = function.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    Some(Function { name: &signature.ident, cfgs: cfgs.collect(), parameters, returned })
}

/// Reports items where there are none.
fn nothing(items: &[Item], place: &str, errors: &mut Errors) {
    for item in items {
        errors.at(&item.key, format!("{place} takes no arguments"));
    }
}

/// `of = Account::BALANCE` or `of = [Account::BALANCE, Account::OWNER]`
fn constants(item: &Item) -> syn::Result<Vec<Expr>> {
    Ok(match item.expression()? {
        Expr::Array(list) => list.elems.into_iter().collect(),
        one => vec![one],
    })
}

/// The items about hooks in the implementation of `Model` or `Mixin`, and the mark that the struct
/// has some.
pub(crate) fn of_struct(
    krate: &TokenStream,
    owner: &Ident,
    at: Span,
) -> (TokenStream, TokenStream) {
    // The mark stands where the struct says `hooks`: there a missing block is reported.
    let span = names::here(at);
    let m = names::located(&quote!(#krate::__private), span);
    let hooks = format_ident!("Hooks", span = span);
    let constant = quote_spanned! {span=>
        const HOOKS: &'static [#m::HookDecl] = <#owner as #m::#hooks>::DECLS;
    };
    let mark = quote_spanned! {span=>
        #[automatically_derived]
        impl #m::HasHooks for #owner {}
    };
    (constant, mark)
}
