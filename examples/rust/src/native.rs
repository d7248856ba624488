//! The part of holdfast.h that this example uses; bindgen writes such a file for all of it.
//! `cargo test` in holdfast's source tree compares the layouts with those of the C compiler.
#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_void};

pub type hf_status = c_int;

/// Opaque: only pointers to it exist.
pub enum hf_client {}
pub enum hf_lock {}
pub enum hf_cancel {}
pub enum hf_lock_info {}

#[repr(C)]
pub struct hf_error {
    pub status: hf_status,
    pub is_temporary: bool,
    pub reserved_flags: [bool; 3],
    pub member: i64,
    pub reserved: [i64; 2],
    pub text: [c_char; 512],
}

pub type OnLost = extern "C" fn(*mut c_void, *mut hf_lock, i64, c_int);
pub type OnRenewed = extern "C" fn(*mut c_void, *mut hf_lock, i64);
pub type OnWait = extern "C" fn(*mut c_void, *mut hf_lock, *const hf_lock_info);

/// A library that has more members gives these their defaults: `size` says what this one has.
#[repr(C)]
pub struct hf_acquire_options {
    pub size: usize,
    pub owner: i64,
    pub wait_ms: i64,
    pub lease_ms: i64,
    pub max_hold_ms: i64,
    pub cancel: *mut hf_cancel,
    pub keep_unreplicated: bool,
    pub allow_same_server: bool,
    pub on_wait: Option<OnWait>,
    pub on_renewed: Option<OnRenewed>,
    pub on_lost: Option<OnLost>,
    pub ctx: *mut c_void,
}

extern "C" {
    pub fn hf_client_new_url(
        out: *mut *mut hf_client,
        url: *const c_char,
        error: *mut hf_error,
    ) -> hf_status;
    pub fn hf_client_free(client: *mut hf_client);
    pub fn hf_lock_new(
        out: *mut *mut hf_lock,
        client: *mut hf_client,
        name: *const c_void,
        len: usize,
        error: *mut hf_error,
    ) -> hf_status;
    pub fn hf_lock_free(lock: *mut hf_lock);
    pub fn hf_acquire_options_init_sized(options: *mut hf_acquire_options, size: usize);
    pub fn hf_lock_acquire(
        lock: *mut hf_lock,
        options: *const hf_acquire_options,
        error: *mut hf_error,
    ) -> hf_status;
    pub fn hf_lock_release(lock: *mut hf_lock, owner: i64, error: *mut hf_error) -> hf_status;
    pub fn hf_owner_new() -> i64;
    pub fn hf_lost_text(reason: c_int) -> *const c_char;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{size_of, MaybeUninit};
    use std::ptr::addr_of;

    /// The lines of tests/abi/layout.txt about these members: "  hf_error.text 32".
    macro_rules! assert_layout {
        ($type:ident: $($member:ident)*) => {
            let recorded = include_str!("../../../tests/abi/layout.txt");
            let has = |line: String| recorded.lines().any(|each| each.trim() == line);
            let name = stringify!($type);
            assert!(has(format!("struct {name} {}", size_of::<$type>())), "the size of {name}");
            $(
                let memory = MaybeUninit::<$type>::uninit();
                let offset = unsafe { addr_of!((*memory.as_ptr()).$member) } as usize
                    - memory.as_ptr() as usize;
                let member = stringify!($member);
                assert!(has(format!("{name}.{member} {offset}")), "the place of {name}.{member}");
            )*
        };
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn layouts_are_those_of_the_c_compiler() {
        assert_layout!(hf_error: status is_temporary reserved_flags member reserved text);
        assert_layout!(hf_acquire_options: size owner wait_ms lease_ms max_hold_ms cancel
            keep_unreplicated allow_same_server on_wait on_renewed on_lost ctx);
    }
}
