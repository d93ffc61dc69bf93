package stack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestStraysAreRemoved: PostgreSQL's data go when the directory of their stack is
// gone, and while a server uses them or anything is in doubt they stay.
func TestStraysAreRemoved(t *testing.T) {
	t.Parallel()
	parent, owners := t.TempDir(), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// data makes the data of a stack, whose state file says what is given.
	data := func(name, state string) string {
		t.Helper()
		dir, owner := filepath.Join(parent, apartPrefix+name), filepath.Join(owners, name)
		must(os.MkdirAll(filepath.Join(dir, "base"), 0o700))
		must(os.WriteFile(filepath.Join(dir, initialisedMark), []byte(owner), 0o600))
		if state != "" {
			must(os.Mkdir(owner, 0o700))
			must(os.WriteFile(filepath.Join(owner, stateFile), fmt.Appendf(nil, state, dir), 0o600))
		}
		return dir
	}
	gone := data("gone", "")
	another := data("another", `{"id":"x","postgres_dir":"%s-2"}`)
	owned := data("owned", `{"id":"x","postgres_dir":%q}`)
	damaged := data("damaged", `{%s`)
	young := data("young", "")
	must(os.Remove(filepath.Join(young, initialisedMark)))
	old := data("old", "")
	must(os.WriteFile(filepath.Join(old, initialisedMark), nil, 0o600))
	used := data("used", "")
	server, in, out := inRole(t, "idle", "-D", used)
	ready := make([]byte, 1)
	_, err := out.Read(ready)
	must(err)
	must(os.WriteFile(filepath.Join(used, "postmaster.pid"), fmt.Appendf(nil, "%d\n%s\n", server.Process.Pid, used), 0o600))
	own, elsewhere := data("own", ""), data("elsewhere", "")
	must(os.WriteFile(filepath.Join(elsewhere, initialisedMark), []byte("/srv/archive/stack"), 0o600))
	strange := filepath.Join(parent, "strange")
	must(os.Mkdir(strange, 0o700))

	look := func(left, right []string) {
		t.Helper()
		must(removeStrays(parent, own))
		for _, dir := range left {
			if _, err := os.Stat(dir); err != nil {
				t.Errorf("it is gone: %v", err)
			}
		}
		for _, dir := range right {
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is still there: %v", dir, err)
			}
		}
	}
	look([]string{owned, damaged, young, old, used, own, elsewhere, strange}, []string{gone, another})
	must(in.Close())
	must(server.Wait())
	look([]string{owned, damaged, young, old, own, elsewhere, strange}, []string{used})
}
