//! Opening a file that nothing beneath a trusted folder can turn into another one.
//!
//! The root is opened once and trusted: links in its own path are the user's
//! business. Beneath it no link is followed, and what is read afterwards is read
//! from one descriptor that `fstat` called a regular file.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::error::{Error, Result, SourceReason};

/// How often `openat2` is asked again when a rename elsewhere disturbed it.
const DISTURBED_TRIES: usize = 4;

const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);
/// `O_PATH` needs only the right to pass through a folder, as opening a whole path does.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// A relative name whose parts cannot lead elsewhere; made before any system call.
#[derive(Clone, Debug)]
pub struct Beneath(Vec<u8>);

impl Beneath {
    /// `name` is bytes with `/` between its parts.
    ///
    /// # Errors
    /// [`SourceReason::BadName`].
    pub fn new(name: &[u8]) -> Result<Beneath> {
        let beneath = Beneath(name.to_vec());
        let is_bad = |part: &[u8]| matches!(part, b"" | b"." | b"..") || part.contains(&0);
        if beneath.parts().any(is_bad) {
            return Err(Error::Source(SourceReason::BadName, 0));
        }
        Ok(beneath)
    }

    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|&byte| byte == b'/')
    }
}

/// A trusted folder.
#[derive(Debug)]
pub struct Root {
    folder: OwnedFd,
    openat2: bool,
}

impl Root {
    /// Opens the folder. `openat2` false walks component by component instead.
    ///
    /// # Errors
    /// [`Error::Source`].
    pub fn open(folder: &Path, openat2: bool) -> Result<Root> {
        let folder = rustix::fs::open(folder, FOLDER, Mode::empty()).map_err(|errno| {
            if errno == Errno::NOTDIR {
                Error::Source(SourceReason::NotRegular, 0)
            } else {
                refused(errno)
            }
        })?;
        Ok(Root { folder, openat2 })
    }

    /// Opens a regular file.
    ///
    /// # Errors
    /// [`Error::Source`].
    pub fn file(&self, name: &Beneath) -> Result<Source> {
        let file = match self.resolve(&name.0) {
            Some(answer) => answer.map_err(refused)?,
            None => self.walk(name)?,
        };
        let status = rustix::fs::fstat(&file).map_err(refused)?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(Error::Source(SourceReason::NotRegular, 0));
        }
        Ok(Source { file })
    }

    #[cfg(target_os = "linux")]
    fn resolve(&self, relative: &[u8]) -> Option<rustix::io::Result<OwnedFd>> {
        use rustix::fs::ResolveFlags;
        if !self.openat2 {
            return None;
        }
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..DISTURBED_TRIES {
            match rustix::fs::openat2(&self.folder, relative, FILE, Mode::empty(), how) {
                Err(Errno::AGAIN) => {}
                // An old kernel, or a sandbox that does not know the call: the walk answers.
                Err(Errno::NOSYS | Errno::PERM) => return None,
                answer => return Some(answer),
            }
        }
        None
    }

    #[cfg(target_os = "macos")]
    fn resolve(&self, relative: &[u8]) -> Option<rustix::io::Result<OwnedFd>> {
        // O_NOFOLLOW_ANY of <sys/fcntl.h>, which rustix does not name.
        let no_link = OFlags::from_bits_retain(0x2000_0000);
        let flags = FILE | no_link;
        self.openat2
            .then(|| rustix::fs::openat(&self.folder, relative, flags, Mode::empty()))
    }

    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    fn resolve(&self, _relative: &[u8]) -> Option<rustix::io::Result<OwnedFd>> {
        None
    }

    fn walk(&self, name: &Beneath) -> Result<OwnedFd> {
        let mut folder: Option<OwnedFd> = None;
        let mut parts = name.parts().peekable();
        while let Some(part) = parts.next() {
            let at = folder.as_ref().unwrap_or(&self.folder);
            if parts.peek().is_none() {
                let flags = FILE | OFlags::NOFOLLOW;
                return rustix::fs::openat(at, part, flags, Mode::empty()).map_err(refused);
            }
            let next = rustix::fs::openat(at, part, FOLDER | OFlags::NOFOLLOW, Mode::empty());
            folder = Some(next.map_err(|errno| {
                // Linux answers ENOTDIR for a link when a directory was asked for.
                if errno == Errno::NOTDIR && is_link(at, part) {
                    refused(Errno::LOOP)
                } else {
                    refused(errno)
                }
            })?);
        }
        unreachable!("a name has at least one part")
    }
}

/// An open regular file, read at given offsets only.
#[derive(Debug)]
pub struct Source {
    file: OwnedFd,
}

/// What `fstat` says of a file, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Device.
    pub dev: u64,
    /// Inode.
    pub ino: u64,
    /// Size in bytes.
    pub size: u64,
    /// When the inode changed: seconds and nanoseconds.
    pub ctime: (i64, i64),
}

impl Source {
    /// The file's status now.
    ///
    /// # Errors
    /// [`Error::Source`].
    pub fn status(&self) -> Result<Status> {
        Ok(status_of(&rustix::fs::fstat(&self.file).map_err(refused)?))
    }

    /// Appends up to `length` bytes from `offset` to `into`; fewer only at the end of the file.
    ///
    /// # Errors
    /// [`Error::Source`].
    pub fn read(&self, offset: u64, length: usize, into: &mut Vec<u8>) -> Result<usize> {
        let (before, wanted) = (into.len(), into.len() + length);
        into.reserve_exact(length);
        while into.len() < wanted {
            let at = offset + (into.len() - before) as u64;
            match rustix::io::pread(&self.file, spare_capacity(into), at) {
                Ok(0) => break,
                Ok(_) => into.truncate(wanted),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(refused(errno)),
            }
        }
        Ok(into.len() - before)
    }
}

fn is_link(folder: &OwnedFd, name: &[u8]) -> bool {
    rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::Symlink)
}

// The types differ between systems.
#[allow(
    clippy::unnecessary_cast,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
fn status_of(status: &Stat) -> Status {
    Status {
        dev: status.st_dev as u64,
        ino: status.st_ino as u64,
        size: status.st_size as u64,
        ctime: (status.st_ctime as i64, status.st_ctime_nsec as i64),
    }
}

fn refused(errno: Errno) -> Error {
    let reason = match errno {
        // A file in the middle of the path: nothing is beneath it.
        Errno::NOENT | Errno::NOTDIR => SourceReason::Missing,
        Errno::ACCESS | Errno::PERM => SourceReason::PermissionDenied,
        Errno::LOOP | Errno::XDEV => SourceReason::Symlink,
        // A socket, or a device without a driver.
        Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => SourceReason::NotRegular,
        _ => return Error::Source(SourceReason::Io, errno.raw_os_error()),
    };
    Error::Source(reason, 0)
}
