//! The `url` crate.

use super::{encode_as, not_held};
use crate::encoding::EncodingError;
use crate::encoding::textual::Uri;

/// Fails for the few URLs that Java does not accept as URIs.
impl TryFrom<url::Url> for Uri {
    type Error = EncodingError;

    fn try_from(url: url::Url) -> Result<Self, EncodingError> {
        Uri::new(url.as_str())
    }
}

/// Fails for relative references and other URIs that are not URLs. The crate changes URLs to its
/// normal form: `http://host`, for example, gets a slash at its end.
impl TryFrom<Uri> for url::Url {
    type Error = EncodingError;

    fn try_from(uri: Uri) -> Result<Self, EncodingError> {
        match uri.as_str().map(url::Url::parse) {
            Some(Ok(url)) => Ok(url),
            _ => not_held(&uri, "a URL"),
        }
    }
}

encode_as!(url::Url => Uri);
