//! Encrypted connections, to servers that prove who they are.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
    StreamOwned,
};

use crate::error::Failure;

/// Where systems keep the certificates that they trust.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// How connections are encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tls {
    /// Not at all.
    Off,
    /// The server must have a certificate for its name, from one of those in a file, or that the system trusts.
    Verified { roots: Option<PathBuf> },
    /// It is not known who the server is.
    Unverified,
}

/// How this program proves who it is: files with its certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Own {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// Encrypts from now on.
pub(crate) fn encrypt(
    mut socket: TcpStream,
    name: &str,
    config: Arc<ClientConfig>,
) -> Result<StreamOwned<ClientConnection, TcpStream>, Failure> {
    let server = ServerName::try_from(name.to_owned());
    let server = server.map_err(|_| Failure::other(format!("{name} is no name of a server")))?;
    let connection = ClientConnection::new(config, server);
    let mut connection = connection.map_err(|error| Failure::other(error.to_string()))?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket).map_err(|error| match error.kind() {
            // A certificate does not get better when it is looked at again.
            std::io::ErrorKind::InvalidData => Failure::other(error.to_string()),
            _ => Failure::Unreachable(error),
        })?;
    }
    Ok(StreamOwned::new(connection, socket))
}

/// What connections are encrypted with; `None` if they are not.
pub(crate) fn config(tls: &Tls, own: Option<&Own>) -> Result<Option<Arc<ClientConfig>>, Failure> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| Failure::other(error.to_string()))?;
    let builder = match tls {
        Tls::Off => return Ok(None),
        Tls::Unverified => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        }
        Tls::Verified { roots } => builder.with_root_certificates(trusted(roots.as_deref())?),
    };
    let Some(own) = own else { return Ok(Some(Arc::new(builder.with_no_client_auth()))) };
    let wrong = |path: &Path, what: String| Failure::other(format!("{}: {what}", path.display()));
    let certificates = CertificateDer::pem_file_iter(&own.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(&own.certificate, error.to_string()))?;
    let key = PrivateKeyDer::from_pem_file(&own.key)
        .map_err(|error| wrong(&own.key, error.to_string()))?;
    let config = builder.with_client_auth_cert(certificates, key);
    Ok(Some(Arc::new(config.map_err(|error| wrong(&own.certificate, error.to_string()))?)))
}

/// The certificates in a file, or those that the system trusts.
fn trusted(file: Option<&Path>) -> Result<RootCertStore, Failure> {
    let system = || SYSTEM.iter().map(Path::new).find(|path| path.exists());
    let Some(file) = file.or_else(system) else {
        return Err(Failure::other(
            "no certificates of this system were found: name a file in cacert",
        ));
    };
    let wrong = |what: String| Failure::other(format!("{}: {what}", file.display()));
    let read = CertificateDer::pem_file_iter(file).map_err(|error| wrong(error.to_string()))?;
    let mut store = RootCertStore::empty();
    // Some systems have certificates among theirs that nobody can read.
    store.add_parsable_certificates(read.filter_map(Result::ok));
    if store.is_empty() {
        return Err(wrong("there is no certificate in it".to_owned()));
    }
    Ok(store)
}

/// Takes every certificate.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
