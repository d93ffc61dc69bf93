package stack

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	natsclient "github.com/nats-io/nats.go"
)

// TestNothingOfOthersIsTrusted: a directory or a state file that another user could have
// written is not used, and what it names is not removed.
// Shows: P20
func TestNothingOfOthersIsTrusted(t *testing.T) {
	t.Parallel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	victim := filepath.Join(t.TempDir(), "victim")
	must(os.Mkdir(victim, 0o700))
	const id = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
	for name, c := range map[string]struct {
		spoil func(dir, file string) error
		says  string
	}{
		"it names a directory elsewhere": {func(string, string) error { return nil }, "where no stack puts them"},
		"every user can write the file":  {func(_, file string) error { return os.Chmod(file, 0o666) }, "lets other users write"},
		"the group can write in it":      {func(dir, _ string) error { return os.Chmod(dir, 0o775) }, "lets other users write"},
		"another user's directory":       {func(dir, _ string) error { return os.Chown(dir, 12345, -1) }, "belongs to another user"},
		"another user's file":            {func(_, file string) error { return os.Chown(file, 12345, -1) }, "belongs to another user"},
		"a link for the file": {func(dir, file string) error {
			return joined(os.Rename(file, file+".real"), os.Symlink(file+".real", file))
		}, "too many levels of symbolic links"},
		"a directory for the file": {func(_, file string) error { return joined(os.Remove(file), os.Mkdir(file, 0o700)) }, "not a file"},
	} {
		if strings.HasPrefix(name, "another user's") && os.Geteuid() != 0 {
			continue // only root can give files away
		}
		dir := filepath.Join(t.TempDir(), "stack")
		file := filepath.Join(dir, stateFile)
		must(os.Mkdir(dir, 0o700))
		must(os.WriteFile(file, fmt.Appendf(nil, `{"id":%q,"postgres_dir":%q}`, id, victim), 0o600))
		must(c.spoil(dir, file))
		removed := Remove(t.Context(), dir)
		_, _, found := Find(dir)
		d, opened := openDirectory(dir)
		if opened == nil {
			must(d.close())
		}
		for what, err := range map[string]error{"remove": removed, "find": found, "open": opened} {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s, %s: %v, want %s", name, what, err, c.says)
			}
		}
		for _, path := range []string{victim, dir} {
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func joined(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// TestPasswordsAreAsked: there is no way in without, and data from before there were
// passwords are closed at the next start. The file that has them is private.
// Shows: P20
func TestPasswordsAreAsked(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	closed := func(s *Stack) {
		t.Helper()
		at := s.Addresses()
		for _, wrong := range []string{"", "wrong"} {
			pg, err := url.Parse(at.Postgres)
			if err != nil {
				t.Fatal(err)
			}
			pg.User = url.UserPassword(postgresUser, wrong)
			if conn, err := pgx.Connect(t.Context(), pg.String()); err == nil {
				t.Errorf("PostgreSQL lets in with the password %q", wrong)
				_ = conn.Close(t.Context())
			}
			nu, err := url.Parse(at.NATS)
			if err != nil {
				t.Fatal(err)
			}
			nu.User = url.UserPassword(natsUser, wrong)
			if nc, err := natsclient.Connect(nu.String()); err == nil {
				t.Errorf("NATS lets in with the password %q", wrong)
				nc.Close()
			}
		}
		for _, file := range []string{stateFile, "lock", "logs/postgres.log"} {
			info, err := os.Stat(filepath.Join(s.Dir(), file))
			if err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %v, %v", file, info, err)
			}
		}
		if shown := fmt.Sprint(at.Redacted()); strings.Contains(shown, s.dir.state.Password) {
			t.Errorf("shown: %s", shown)
		}
	}
	s := start(t, Options{Dir: dir})
	closed(s)
	connect(t, s.Addresses()).write(t, "with a password")
	hba := filepath.Join(s.dir.state.Postgres, "pg_hba.conf")
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hba, []byte("host all all 127.0.0.1/32 trust\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = start(t, Options{Dir: dir})
	closed(s)
	connect(t, s.Addresses()).check(t, "with a password")
}
