//! The certificate of a rig's services, and the authority that signs it: both are made for one trial, and nobody else trusts them.

use plimsoll_model::frame::{CERTIFIED_NAME, Certificate};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use crate::error::RunError;

/// Makes a certificate (ECDSA with P-256). The key of the authority is forgotten once it has signed.
pub(crate) fn make() -> Result<Certificate, RunError> {
    let failed = |error: rcgen::Error| RunError::Certificate(error.to_string());
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "authority of a Plimsoll run");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let key = KeyPair::generate().map_err(failed)?;
    let signed = authority.self_signed(&key).map_err(failed)?;
    let issuer = Issuer::new(authority, key);

    let mut service = CertificateParams::new([CERTIFIED_NAME.to_owned()]).map_err(failed)?;
    service.distinguished_name.push(DnType::CommonName, CERTIFIED_NAME);
    service.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    service.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = service.signed_by(&key, &issuer).map_err(failed)?;
    Ok(Certificate { authority: signed.pem(), certificate: certificate.pem(), key: key.serialize_pem() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_another_and_its_key_is_not_printed() {
        let (one, other) = (make().unwrap(), make().unwrap());
        assert_ne!(one.key, other.key);
        assert_ne!(one.authority, other.authority);
        assert!(!format!("{one:?}").contains("PRIVATE"));
    }
}
