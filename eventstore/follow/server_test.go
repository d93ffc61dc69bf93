package follow_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/accession-ingest/accession/eventstore/follow"
)

// startServer runs a server of the test's own; port -1 is any.
func startServer(t *testing.T, dir string, port int, users ...*server.User) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true, SyncAlways: true, Users: users})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not start")
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

// A restart of the server under a loop: nothing is lost or doubled. When it comes
// back without the end of its log, the loop ends and says so, also when others have
// written on.
func TestServerRestart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ lose, write bool }{"all is kept": {}, "end lost": {true, false}, "end lost and written anew": {true, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, copied := t.TempDir(), t.TempDir()
			s := startServer(t, dir, -1)
			l, err := openLog(s.ClientURL())
			if err != nil {
				t.Fatal(err)
			}
			port := s.Addr().(*net.TCPAddr).Port
			restart := func(change func()) {
				s.Shutdown()
				s.WaitForShutdown()
				change()
				s = startServer(t, dir, port)
				if err := l.connect(); err != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(func() { l.close() })
			l.mustAppend(t, waiting(1, 1), waiting(1, 2))
			restart(func() {
				if err := os.CopyFS(filepath.Join(copied, "log"), os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
			})
			l.mustAppend(t, waiting(1, 3))

			var got []string
			f := open(t, l.Options)
			for e, err := range f.Events(within(t)) {
				if tc.lose && errors.Is(err, follow.ErrStream) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, e.ID); e.Version == 4 {
					break
				}
				if e.Version == 3 {
					restart(func() {
						if !tc.lose {
							return
						}
						if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(filepath.Join(copied, "log")))); err != nil {
							t.Fatal(err)
						}
					})
					switch {
					case tc.write:
						l.mustAppend(t, waiting(2, 1), waiting(1, 3), waiting(1, 4))
					case !tc.lose:
						l.mustAppend(t, waiting(1, 4))
					}
				}
			}
			want := []string{"job/jid0000000001/1", "job/jid0000000001/2", "job/jid0000000001/3", "job/jid0000000001/4"}
			if tc.lose {
				want = want[:3]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
