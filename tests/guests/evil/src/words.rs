//! Text that is too long, or not text.
//! What the binary interface itself forbids is in the guest `evil-abi`.

use host_sdk::bindings::train_host::callback::types::Decision;

/// A note of so many bytes.
pub(crate) fn long(bytes: u64) -> Vec<Decision> {
    vec![Decision::Note("x".repeat(bytes as usize))]
}

/// A note that is not UTF-8.
#[expect(unsafe_code, reason = "the attack is to break the promise that text is UTF-8")]
pub(crate) fn bad() -> Vec<Decision> {
    // SAFETY: none. The string is only moved to the host, which has to check it.
    let words = unsafe { String::from_utf8_unchecked(vec![b'n', b'o', 0xff, 0xfe]) };
    vec![Decision::Note(words)]
}
