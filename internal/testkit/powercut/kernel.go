//go:build soak && linux

package powercut

import (
	"cmp"
	"errors"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// valid is how long the kernel may believe what it was told: nothing changes
// without it.
const valid = 3600

// kernel answers the kernel's questions about a disk.
type kernel struct {
	fuse.RawFileSystem
	disk *Disk
}

func newKernel(d *Disk) *kernel { return &kernel{fuse.NewDefaultRawFileSystem(), d} }

func (k *kernel) String() string { return "powercut" }

// status is an error of the disk as the kernel wants it.
func status(err error) fuse.Status {
	var no syscall.Errno
	switch {
	case err == nil:
		return fuse.OK
	case errors.As(err, &no):
		return fuse.Status(no)
	default:
		return fuse.EIO
	}
}

func attributes(i Info) fuse.Attr {
	at, ns := uint64(i.Changed.Unix()), uint32(i.Changed.Nanosecond())
	return fuse.Attr{
		Ino: uint64(i.ID), Size: uint64(i.Size), Blocks: uint64(i.Size+511) / 512, Blksize: pageSize, Mode: i.Mode, Nlink: uint32(i.Links),
		Atime: at, Mtime: at, Ctime: at, Atimensec: ns, Mtimensec: ns, Ctimensec: ns, Owner: fuse.Owner{Uid: i.UID, Gid: i.GID},
	}
}

func (k *kernel) entry(i Info, out *fuse.EntryOut) {
	out.NodeId, out.Generation, out.EntryValid, out.AttrValid, out.Attr = uint64(i.ID), 1, valid, valid, attributes(i)
}

func (k *kernel) attr(node uint64, out *fuse.AttrOut) fuse.Status {
	i, err := k.disk.Stat(ID(node))
	out.AttrValid, out.Attr = valid, attributes(i)
	return status(err)
}

func (k *kernel) Lookup(_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	i, err := k.disk.Find(ID(in.NodeId), name)
	if err == nil {
		k.entry(i, out)
	}
	return status(err)
}

func (k *kernel) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return k.attr(in.NodeId, out)
}

func (k *kernel) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	id := ID(in.NodeId)
	was, err := k.disk.Stat(id)
	if size, ok := in.GetSize(); ok && err == nil {
		err = k.disk.Resize(id, int64(size))
	}
	if mode, ok := in.GetMode(); ok && err == nil {
		err = k.disk.Allow(id, mode)
	}
	uid, user := in.GetUID()
	gid, group := in.GetGID()
	if !user {
		uid = was.UID
	}
	if !group {
		gid = was.GID
	}
	if (user || group) && err == nil {
		err = k.disk.Give(id, uid, gid)
	}
	if err != nil {
		return status(err)
	}
	return k.attr(in.NodeId, out)
}

// create makes a node for the caller.
func (k *kernel) create(in *fuse.InHeader, name string, mode uint32, out *fuse.EntryOut) fuse.Status {
	id, err := k.disk.Make(ID(in.NodeId), name, mode, in.Uid, in.Gid)
	return k.found(id, err, out)
}

func (k *kernel) found(id ID, err error, out *fuse.EntryOut) fuse.Status {
	if err != nil {
		return status(err)
	}
	i, err := k.disk.Stat(id)
	if err == nil {
		k.entry(i, out)
	}
	return status(err)
}

func (k *kernel) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	if in.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return fuse.EPERM
	}
	return k.create(&in.InHeader, name, in.Mode, out)
}

func (k *kernel) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	return k.create(&in.InHeader, name, in.Mode|syscall.S_IFDIR, out)
}

func (k *kernel) Unlink(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return status(k.disk.Remove(ID(in.NodeId), name, false))
}

func (k *kernel) Rmdir(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return status(k.disk.Remove(ID(in.NodeId), name, true))
}

func (k *kernel) Rename(_ <-chan struct{}, in *fuse.RenameIn, name, newName string) fuse.Status {
	const noReplace = 1
	switch in.Flags {
	case 0:
	case noReplace:
		if _, err := k.disk.Find(ID(in.Newdir), newName); err == nil {
			return fuse.Status(syscall.EEXIST)
		}
	default:
		return fuse.EINVAL
	}
	return status(k.disk.Rename(ID(in.NodeId), name, ID(in.Newdir), newName))
}

func (k *kernel) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	err := k.disk.Link(ID(in.Oldnodeid), ID(in.NodeId), name)
	return k.found(ID(in.Oldnodeid), err, out)
}

func (k *kernel) Symlink(_ <-chan struct{}, in *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	id, err := k.disk.Symlink(ID(in.NodeId), name, target, in.Uid, in.Gid)
	return k.found(id, err, out)
}

func (k *kernel) Readlink(_ <-chan struct{}, in *fuse.InHeader) ([]byte, fuse.Status) {
	target, err := k.disk.Target(ID(in.NodeId))
	return []byte(target), status(err)
}

func (k *kernel) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	const blocks = 1 << 26 // 256 GiB, all free
	*out = fuse.StatfsOut{Blocks: blocks, Bfree: blocks, Bavail: blocks, Files: blocks, Ffree: blocks, Bsize: pageSize, Frsize: pageSize, NameLen: 255}
	return fuse.OK
}

func (k *kernel) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, _ *fuse.OpenOut) fuse.Status {
	_, err := k.disk.List(ID(in.NodeId))
	return status(err)
}

// ReadDir returns the names by the time of their birth, so that one which comes or
// goes does not move the others.
func (k *kernel) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	all, err := k.disk.List(ID(in.NodeId))
	if err != nil {
		return status(err)
	}
	for _, e := range sorted(all) {
		if e.Off > in.Offset && !out.AddDirEntry(e) {
			break
		}
	}
	return fuse.OK
}

func (k *kernel) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return status(k.disk.Sync(ID(in.NodeId)))
}

func (k *kernel) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	if no := k.create(&in.InHeader, name, in.Mode|syscall.S_IFREG, &out.EntryOut); no != fuse.OK {
		return no
	}
	return status(k.disk.Open(ID(out.NodeId)))
}

func (k *kernel) Open(_ <-chan struct{}, in *fuse.OpenIn, _ *fuse.OpenOut) fuse.Status {
	return status(k.disk.Open(ID(in.NodeId)))
}

func (k *kernel) Release(_ <-chan struct{}, in *fuse.ReleaseIn) { k.disk.Close(ID(in.NodeId)) }

func (k *kernel) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	n, err := k.disk.Read(ID(in.NodeId), int64(in.Offset), buf[:min(len(buf), int(in.Size))])
	return fuse.ReadResultData(buf[:n]), status(err)
}

func (k *kernel) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	id := ID(in.NodeId)
	err := k.disk.Write(id, int64(in.Offset), data)
	if in.Flags&(syscall.O_SYNC|syscall.O_DSYNC) != 0 && err == nil {
		err = k.disk.Sync(id)
	}
	return uint32(len(data)), status(err)
}

func (k *kernel) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

func (k *kernel) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return status(k.disk.Sync(ID(in.NodeId)))
}

func (k *kernel) Fallocate(_ <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	if in.Mode != 0 {
		return fuse.Status(syscall.EOPNOTSUPP)
	}
	i, err := k.disk.Stat(ID(in.NodeId))
	if end := int64(in.Offset + in.Length); err == nil && end > i.Size {
		err = k.disk.Resize(i.ID, end)
	}
	return status(err)
}

// sorted returns entries as the kernel wants them, in the order of their place.
func sorted(all []Entry) []fuse.DirEntry {
	entries := make([]fuse.DirEntry, 0, len(all))
	for _, e := range all {
		entries = append(entries, fuse.DirEntry{Name: e.Name, Ino: uint64(e.ID), Mode: e.Mode, Off: uint64(e.ID)})
	}
	slices.SortFunc(entries, func(a, b fuse.DirEntry) int { return cmp.Compare(a.Off, b.Off) })
	return entries
}
