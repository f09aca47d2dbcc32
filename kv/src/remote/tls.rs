//! Encrypted connections, to servers that prove their identity.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore,
    SignatureScheme, StreamOwned,
};

/// The error if the server answers in plain text.
const DOES_NOT_ENCRYPT: &str = "the server does not encrypt connections";

/// The error if the server closes the connection instead of answering.
const MAYBE_DOES_NOT_ENCRYPT: &str = "the server has closed the connection when encryption began: perhaps it does not encrypt connections";

/// The remedy for a key that cannot be read.
const ENCRYPTED_KEY: &str = "the key is encrypted, and no password is asked for: write it without one, as `openssl pkey -in KEY -out NEW` does";

/// Where systems keep the certificates that they trust.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// How connections are encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// Not at all.
    Off,
    /// The server must have a certificate for its name.
    Verified {
        /// A file with trusted authorities; `None` for the authorities that the system trusts.
        roots: Option<PathBuf>,
    },
    /// The server must have a certificate of an authority that is trusted, with any name.
    OfAuthority {
        /// A file with trusted authorities; `None` for the authorities that the system trusts.
        roots: Option<PathBuf>,
    },
    /// The identity of the server is not verified.
    Unverified,
}

/// How this program proves its identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnCertificate {
    /// A file with its certificate.
    pub certificate: PathBuf,
    /// A file with its key.
    pub key: PathBuf,
}

/// Why a connection is not encrypted.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file or a certificate is wrong, which does not pass by itself.
    #[error("{0}")]
    Refused(String),
    /// The connection is lost.
    #[error(transparent)]
    Lost(#[from] io::Error),
}

/// Encrypts connections.
#[derive(Debug, Clone)]
pub struct Encryption {
    config: Arc<ClientConfig>,
    /// The parameter of the URL that names the file of trusted authorities.
    parameter: Box<str>,
}

/// A connection that is encrypted.
#[derive(Debug)]
pub struct EncryptedStream(StreamOwned<ClientConnection, TcpStream>);

impl EncryptedStream {
    /// The socket below the encryption. Nothing may be read from it or written to it directly.
    pub fn socket(&self) -> &TcpStream {
        &self.0.sock
    }
}

/// Data that could not be written yet does not block reads. If the server refuses the certificate
/// of this program, or asks for one in vain, reading fails with
/// [`io::ErrorKind::PermissionDenied`]; the server has done nothing then.
impl Read for EncryptedStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let StreamOwned { conn, sock } = &mut self.0;
        loop {
            match conn.reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
            conn.read_tls(sock)?;
            if let Err(error) = conn.process_new_packets() {
                // Tells the server, if that is possible.
                let _ = conn.write_tls(sock);
                let kind = match refuses_certificate(&error) {
                    true => io::ErrorKind::PermissionDenied,
                    false => io::ErrorKind::InvalidData,
                };
                return Err(io::Error::new(kind, error));
            }
        }
    }
}

impl Write for EncryptedStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A socket of which all reads and writes together must be done by `until`: a server that sends a
/// byte now and then would never exceed the limit to each of them.
struct InTime<'s> {
    socket: &'s TcpStream,
    until: Instant,
}

impl InTime<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        // A limit of zero is refused.
        if left.is_zero() { Err(too_late()) } else { Ok(Some(left.max(Duration::from_millis(1)))) }
    }
}

impl Read for InTime<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        self.socket.read(into).map_err(or_too_late)
    }
}

impl Write for InTime<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        self.socket.write(bytes).map_err(or_too_late)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

fn too_late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no answer in time")
}

/// Some systems have another kind of error for a limit that is over.
fn or_too_late(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { too_late() } else { error }
}

impl Encryption {
    /// How connections are encrypted; `None` if they are not. `parameter` is the parameter of the
    /// URL that names the file of trusted authorities, for an error that says what to do.
    ///
    /// # Errors
    /// [`TlsError::Refused`] if there is something wrong with a file.
    pub fn new(
        tls: &Tls,
        own: Option<&OwnCertificate>,
        parameter: &str,
    ) -> Result<Option<Self>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| TlsError::Refused(error.to_string()))?;
        let builder = match tls {
            Tls::Off => return Ok(None),
            Tls::Unverified => {
                let all = AnyName { authority: None, provider };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(all))
            }
            Tls::OfAuthority { roots } => {
                let roots = Arc::new(trusted(roots.as_deref(), parameter)?);
                let shared = Arc::clone(&provider);
                let authority = WebPkiServerVerifier::builder_with_provider(roots, shared).build();
                let authority = authority.map_err(|error| TlsError::Refused(error.to_string()))?;
                let signed = AnyName { authority: Some(authority), provider };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(signed))
            }
            Tls::Verified { roots } => {
                builder.with_root_certificates(trusted(roots.as_deref(), parameter)?)
            }
        };
        let config = match own {
            None => builder.with_no_client_auth(),
            Some(OwnCertificate { certificate, key }) => {
                let certificates = CertificateDer::pem_file_iter(certificate)
                    .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                    .map_err(|error| wrong(certificate, error))?;
                let own_key = PrivateKeyDer::from_pem_file(key);
                let own_key = own_key.map_err(|error| match is_encrypted(key) {
                    true => wrong(key, ENCRYPTED_KEY),
                    false => wrong(key, error),
                })?;
                let config = builder.with_client_auth_cert(certificates, own_key);
                config.map_err(|error| wrong(certificate, error))?
            }
        };
        Ok(Some(Encryption { config: Arc::new(config), parameter: parameter.into() }))
    }

    /// Begins an encrypted connection to the server of this name on `socket`, which must be done by
    /// `until`. Afterwards the socket has other limits to reads and writes than before.
    ///
    /// # Errors
    /// [`TlsError::Refused`] if the server does not prove its identity.
    pub fn begin(
        &self,
        socket: TcpStream,
        name: &str,
        until: Instant,
    ) -> Result<EncryptedStream, TlsError> {
        let server = ServerName::try_from(name.to_owned());
        let server =
            server.map_err(|_| TlsError::Refused(format!("{name} is not a valid server name")))?;
        let connection = ClientConnection::new(Arc::clone(&self.config), server);
        let mut connection = connection.map_err(|error| TlsError::Refused(error.to_string()))?;
        let mut in_time = InTime { socket: &socket, until };
        while connection.is_handshaking() {
            connection.complete_io(&mut in_time).map_err(|error| match error.kind() {
                // A certificate that was refused is refused again.
                io::ErrorKind::InvalidData => TlsError::Refused(self.refused(&error)),
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                    let what = format!("{MAYBE_DOES_NOT_ENCRYPT} ({error})");
                    TlsError::Lost(io::Error::new(error.kind(), what))
                }
                _ => TlsError::Lost(error),
            })?;
        }
        Ok(EncryptedStream(StreamOwned::new(connection, socket)))
    }

    /// The problem, and the remedy if no trusted authority has signed the certificate.
    fn refused(&self, error: &io::Error) -> String {
        use rustls::{CertificateError, Error};
        let of_tls = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
        match of_tls {
            Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)) => format!(
                "{error}; if its authority is your own, name the file of the authority in {}",
                self.parameter
            ),
            Some(Error::InvalidMessage(_)) => format!("{DOES_NOT_ENCRYPT} ({error})"),
            _ => error.to_string(),
        }
    }
}

/// Whether the server refuses the certificate of this program, or misses it. The server may say so
/// only when this program has already sent its request.
fn refuses_certificate(error: &rustls::Error) -> bool {
    use AlertDescription::{
        AccessDenied, BadCertificate, CertificateExpired, CertificateRequired, CertificateRevoked,
        CertificateUnknown, UnknownCA, UnsupportedCertificate,
    };
    let rustls::Error::AlertReceived(alert) = error else { return false };
    matches!(
        alert,
        AccessDenied
            | BadCertificate
            | CertificateExpired
            | CertificateRequired
            | CertificateRevoked
            | CertificateUnknown
            | UnknownCA
            | UnsupportedCertificate
    )
}

/// Whether a file has a key that only a password shows.
fn is_encrypted(key: &Path) -> bool {
    let text = std::fs::read_to_string(key).unwrap_or_default();
    text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
}

fn wrong(file: &Path, what: impl ToString) -> TlsError {
    TlsError::Refused(format!("{}: {}", file.display(), what.to_string()))
}

/// The certificates in a file, or the certificates that the system trusts.
fn trusted(file: Option<&Path>, parameter: &str) -> Result<RootCertStore, TlsError> {
    let system = || SYSTEM.iter().map(Path::new).find(|path| path.exists());
    let Some(file) = file.or_else(system) else {
        return Err(TlsError::Refused(format!(
            "no certificates of this system were found: name a file in {parameter}"
        )));
    };
    let read = CertificateDer::pem_file_iter(file).map_err(|error| wrong(file, error))?;
    let mut store = RootCertStore::empty();
    // Some systems have certificates among theirs that cannot be parsed.
    store.add_parsable_certificates(read.filter_map(Result::ok));
    if store.is_empty() {
        return Err(wrong(file, "there is no certificate in it"));
    }
    Ok(store)
}

/// Accepts certificates for any server name: the certificates that an authority has signed, or all.
#[derive(Debug)]
struct AnyName {
    authority: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use rustls::CertificateError::{NotValidForName, NotValidForNameContext};
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            // The name is compared last.
            Err(rustls::Error::InvalidCertificate(
                NotValidForName | NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
