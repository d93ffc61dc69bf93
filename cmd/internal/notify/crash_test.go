package notify_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/notify"
)

// A process that is killed between writing a mail and naming it leaves no mail;
// killed after naming it, it leaves the whole mail. Either way the next try ends
// with one.
// Shows: P6
func TestCrash(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "deliver")
	if out, err := exec.Command("go", "build", "-tags", "crashpoints", "-o", binary, "./testdata/deliver").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for point, mails := range map[string]int{"notify/mail/rename/before": 0, "notify/mail/rename/after": 1} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "drop")
			cmd := exec.Command(binary, dir)
			cmd.Env = append(os.Environ(), "ACCESSION_CRASH="+point)
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("it was to be killed: %v", err)
			}
			visible := func() (n int) {
				for _, name := range entries(t, dir) {
					if strings.HasPrefix(name, ".") {
						continue
					}
					raw, err := os.ReadFile(filepath.Join(dir, name))
					if err != nil {
						t.Fatal(err)
					}
					if _, text := read(t, raw); text != "all of it\n" {
						t.Errorf("half a mail: %q", raw)
					}
					n++
				}
				return n
			}
			if n := visible(); n != mails {
				t.Errorf("%d mails, want %d", n, mails)
			}
			m := report()
			m.Key, m.Text = "k", "all of it\n"
			if _, err := (notify.MailDrop{Dir: dir}).Deliver(m); err != nil {
				t.Fatal(err)
			}
			if n := visible(); n != 1 {
				t.Errorf("%d mails after the next try", n)
			}
		})
	}
}
