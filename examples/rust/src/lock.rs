//! A safe wrapper: a client, and holds that are released when they are dropped.
use crate::native::*;
use std::ffi::{c_int, c_void, CStr, CString};
use std::mem::{size_of, MaybeUninit};
use std::ptr::null_mut;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Mutex;

pub struct Client {
    pointer: *mut hf_client,
    /// What callbacks use, until the client is freed: a callback may begin during a release.
    senders: Mutex<Vec<*mut Sender<String>>>,
}

// Every function of the library may be called by any thread.
unsafe impl Send for Client {}
unsafe impl Sync for Client {}

pub struct Hold<'client> {
    lock: *mut hf_lock,
    owner: i64,
    /// Receives the reason when the lock is lost.
    pub lost: Receiver<String>,
    _client: &'client Client,
}

/// Calls a function that returns a status and fills in an error.
fn check(call: impl FnOnce(*mut hf_error) -> hf_status) -> Result<(), String> {
    let mut error = MaybeUninit::<hf_error>::uninit();
    if call(error.as_mut_ptr()) >= 0 {
        return Ok(());
    }
    // The library has filled it in.
    let text = unsafe { CStr::from_ptr((*error.as_ptr()).text.as_ptr()) };
    Err(text.to_string_lossy().into_owned())
}

extern "C" fn on_lost(ctx: *mut c_void, _lock: *mut hf_lock, _owner: i64, reason: c_int) {
    let (sender, text) = unsafe { (&*ctx.cast::<Sender<String>>(), hf_lost_text(reason)) };
    let text = unsafe { CStr::from_ptr(text) };
    let _ = sender.send(text.to_string_lossy().into_owned());
}

impl Client {
    /// The server is not contacted.
    pub fn new(url: &str) -> Result<Client, String> {
        let url = CString::new(url).map_err(|_| "the URL contains a NUL".to_string())?;
        let mut pointer = null_mut();
        check(|error| unsafe { hf_client_new_url(&mut pointer, url.as_ptr(), error) })?;
        Ok(Client {
            pointer,
            senders: Mutex::default(),
        })
    }

    /// Waits for the lock, which the library then renews until it is released.
    pub fn acquire(&self, name: &str) -> Result<Hold<'_>, String> {
        let (sender, lost) = channel();
        let sender = Box::into_raw(Box::new(sender));
        self.senders.lock().unwrap().push(sender);

        let mut lock = null_mut();
        let bytes = name.as_ptr().cast();
        check(|error| unsafe { hf_lock_new(&mut lock, self.pointer, bytes, name.len(), error) })?;
        // From here on, dropping the hold frees the lock.
        let mut hold = Hold {
            lock,
            owner: 0,
            lost,
            _client: self,
        };

        let mut options = MaybeUninit::<hf_acquire_options>::uninit();
        let options = unsafe {
            hf_acquire_options_init_sized(options.as_mut_ptr(), size_of::<hf_acquire_options>());
            options.assume_init_mut()
        };
        options.owner = unsafe { hf_owner_new() };
        options.on_lost = Some(on_lost);
        options.ctx = sender.cast();
        check(|error| unsafe { hf_lock_acquire(lock, options, error) })?;
        hold.owner = options.owner;
        Ok(hold)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        unsafe { hf_client_free(self.pointer) };
        for sender in self.senders.get_mut().unwrap().drain(..) {
            drop(unsafe { Box::from_raw(sender) });
        }
    }
}

impl Hold<'_> {
    /// As drop, but returns the error.
    pub fn release(mut self) -> Result<(), String> {
        let owner = std::mem::take(&mut self.owner);
        check(|error| unsafe { hf_lock_release(self.lock, owner, error) })
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        if self.owner != 0 {
            let _ = check(|error| unsafe { hf_lock_release(self.lock, self.owner, error) });
        }
        unsafe { hf_lock_free(self.lock) };
    }
}
