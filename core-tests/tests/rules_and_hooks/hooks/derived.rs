//! A value derived along a path stays right with the hooks that docs/src/hooks.md names for it,
//! whatever the references of the path do at deletions.

use permazen::model::{Changed, Path};
use permazen::{Obj, ObjId, PermazenObject, Ref, Result};

/// Carts with items of products of makers. The attributes are those of the three references. The
/// hooks of carts for deleted makers and products count only where references to these stay.
macro_rules! shop {
    ($module:ident, stay = $stay:literal, cart($($cart:tt)*), product($($product:tt)*), maker($($maker:tt)*)) => {
        mod $module {
            use super::*;

            #[derive(PermazenObject, Default)]
            struct Maker {
                weight: i64,
            }

            #[derive(PermazenObject, Default)]
            struct Product {
                #[permazen($($maker)*)]
                maker: Option<Ref<Maker>>,
            }

            #[derive(PermazenObject, Default)]
            #[permazen(hooks)]
            struct Item {
                #[permazen($($cart)*)]
                cart: Option<Ref<Cart>>,
                #[permazen($($product)*)]
                product: Option<Ref<Product>>,
            }

            #[derive(PermazenObject, Default)]
            #[permazen(hooks)]
            struct Cart {
                total: i64,
            }

            impl Cart {
                fn sum(this: Obj<'_, Self>, gone: Option<ObjId>) -> Result<i64> {
                    let mut sum = 0;
                    for item in this.referrers(Item::CART)?.iter() {
                        let item = item?;
                        let Some(product) = item.product()? else { continue };
                        if !product.exists()? {
                            continue;
                        }
                        let Some(maker) = product.maker()? else { continue };
                        let way = [item.id(), product.id(), maker.id()];
                        if maker.exists()? && !way.into_iter().any(|id| gone == Some(id)) {
                            sum += maker.weight()?;
                        }
                    }
                    Ok(sum)
                }

                fn count(this: Obj<'_, Self>, gone: Option<ObjId>) -> Result<()> {
                    this.set_total(Self::sum(this, gone)?)
                }
            }

            #[permazen::hooks]
            impl Cart {
                #[on_change(
                    of = Maker::WEIGHT,
                    path = Path::of::<Self>().from(Item::CART).to(Item::PRODUCT).to(Product::MAKER)
                )]
                #[on_change(
                    of = Product::MAKER,
                    path = Path::of::<Self>().from(Item::CART).to(Item::PRODUCT)
                )]
                #[on_change(of = Item::PRODUCT, path = Path::of::<Self>().from(Item::CART))]
                fn changed(this: Obj<'_, Self>) -> Result<()> {
                    Self::count(this, None)
                }

                #[on_delete(
                    path = Path::of::<Self>().from(Item::CART).to(Item::PRODUCT).to(Product::MAKER)
                )]
                fn maker_goes(this: Obj<'_, Self>, gone: Obj<'_, Maker>) -> Result<()> {
                    if $stay { Self::count(this, Some(gone.id())) } else { Ok(()) }
                }

                #[on_delete(path = Path::of::<Self>().from(Item::CART).to(Item::PRODUCT))]
                fn product_goes(this: Obj<'_, Self>, gone: Obj<'_, Product>) -> Result<()> {
                    if $stay { Self::count(this, Some(gone.id())) } else { Ok(()) }
                }

                #[on_delete(path = Path::of::<Self>().from(Item::CART))]
                fn item_goes(this: Obj<'_, Self>, gone: Obj<'_, Item>) -> Result<()> {
                    Self::count(this, Some(gone.id()))
                }
            }

            #[permazen::hooks]
            impl Item {
                #[on_change(fields(cart))]
                fn moved(this: Obj<'_, Self>, cart: &Changed<'_, Self, Option<Ref<Cart>>>) -> Result<()> {
                    for cart in [cart.old()?, cart.new()?].into_iter().flatten() {
                        let cart = this.tx().get(cart)?;
                        if cart.exists()? {
                            Cart::count(cart, None)?;
                        }
                    }
                    Ok(())
                }
            }

            #[test]
            fn stays_right() {
                let builder = crate::hooks::builder().model::<Maker>().model::<Product>();
                let db = builder.model::<Item>().model::<Cart>().build().unwrap();
                let mut random = Random(7);
                let mut most = 0;
                db.write(|tx| {
                    for _ in 0..600 {
                        // There are always some objects of each model.
                        while tx.all::<Maker>()?.count()? < 3 {
                            tx.create(Maker { weight: random.below(9) as i64 + 1 })?;
                        }
                        let makers = tx.all::<Maker>()?.to_vec()?;
                        while tx.all::<Product>()?.count()? < 4 {
                            tx.create(Product { maker: Some(random.of(&makers).to_ref()) })?;
                        }
                        let products = tx.all::<Product>()?.to_vec()?;
                        while tx.all::<Cart>()?.count()? < 2 {
                            tx.create(Cart::default())?;
                        }
                        let carts = tx.all::<Cart>()?.to_vec()?;
                        while tx.all::<Item>()?.count()? < 8 {
                            let cart = Some(random.of(&carts).to_ref());
                            tx.create(Item { cart, product: Some(random.of(&products).to_ref()) })?;
                        }
                        let items = tx.all::<Item>()?.to_vec()?;
                        let (item, product) = (random.of(&items), random.of(&products));
                        let (maker, cart) = (random.of(&makers), random.of(&carts));
                        match random.below(12) {
                            0..3 => maker.set_weight(random.below(9) as i64 + 1)?,
                            3 | 4 => product.set_maker(maker)?,
                            5 | 6 => item.set_product(product)?,
                            7 => item.set_cart(cart)?,
                            8 => drop(item.delete()?),
                            9 => drop(product.delete()?),
                            10 => drop(maker.delete()?),
                            _ => drop(cart.delete()?),
                        }
                        for cart in tx.all::<Cart>()?.iter() {
                            let cart = cart?;
                            assert_eq!(cart.total()?, Cart::sum(cart, None)?);
                            most = most.max(cart.total()?);
                        }
                    }
                    Ok(())
                })
                .unwrap();
                assert!(most > 10);
            }
        }
    };
}

shop!(
    all_go_with_what_they_refer_to,
    stay = false,
    cart(inverse_delete = "delete"),
    product(inverse_delete = "delete"),
    maker(inverse_delete = "delete")
);
shop!(
    references_become_null,
    stay = false,
    cart(inverse_delete = "nullify"),
    product(inverse_delete = "nullify"),
    maker(inverse_delete = "nullify")
);
shop!(
    references_stay,
    stay = true,
    cart(inverse_delete = "ignore", allow_deleted),
    product(inverse_delete = "ignore", allow_deleted),
    maker(inverse_delete = "ignore", allow_deleted)
);
shop!(
    deletions_go_on,
    stay = false,
    cart(inverse_delete = "delete"),
    product(inverse_delete = "nullify", forward_delete),
    maker(inverse_delete = "nullify", forward_delete)
);
shop!(
    deletions_go_both_ways,
    stay = false,
    cart(inverse_delete = "nullify", forward_delete),
    product(inverse_delete = "delete", forward_delete),
    maker(inverse_delete = "delete", forward_delete)
);

/// The same numbers in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % end
    }

    fn of<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len())]
    }
}
