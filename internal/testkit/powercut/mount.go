//go:build soak && linux

package powercut

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Mount is a disk under a directory.
type Mount struct {
	disk   *Disk
	dir    string
	server *fuse.Server
}

// At mounts the disk over a directory. It needs /dev/fuse and the right to mount,
// or the program fusermount3. Other users may enter when root mounts it: PostgreSQL
// is one.
func (d *Disk) At(dir string) (*Mount, error) {
	m := &Mount{disk: d, dir: dir}
	if err := m.mount(); err != nil {
		return nil, fmt.Errorf("powercut: no FUSE file system can be mounted here: it takes Linux with /dev/fuse, and root or the program fusermount3 (in a container: --device /dev/fuse --cap-add SYS_ADMIN): %w", err)
	}
	return m, nil
}

func (m *Mount) mount() error {
	server, err := fuse.NewServer(newKernel(m.disk), m.dir, &fuse.MountOptions{
		Name: "powercut", FsName: "powercut", DirectMount: true, AllowOther: os.Geteuid() == 0,
		Options: []string{"default_permissions"}, DisableXAttrs: true, DisableReadDirPlus: true, MaxWrite: 1 << 20,
	})
	if err != nil {
		return err
	}
	go server.Serve()
	m.server = server
	return server.WaitMount()
}

// Close takes the mount away, when no file is open there any more.
func (m *Mount) Close() error {
	var err error
	for range 100 {
		if err = m.server.Unmount(); !errors.Is(err, syscall.EBUSY) {
			break
		}
		<-time.After(50 * time.Millisecond) // the last process there is about to end
	}
	if err != nil {
		return fmt.Errorf("powercut: unmount %s: %w", m.dir, err)
	}
	m.server.Wait()
	return nil
}

// Cut takes the power away and brings it back: what is there afterwards was synced.
// No file may be open.
func (m *Mount) Cut() error {
	if err := m.Close(); err != nil {
		return err
	}
	m.disk.Cut()
	if err := m.mount(); err != nil {
		return fmt.Errorf("powercut: mount %s again: %w", m.dir, err)
	}
	return nil
}
