package bucket

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/accession-ingest/accession/internal/testkit/unpacked"
)

// Rclone serves empty buckets, which are directories, by a process of rclone's own until the test
// ends. Requests need a signature by the key.
func Rclone(t testing.TB, buckets ...string) *Server {
	t.Helper()
	program := unpacked.Dir(t, "rclone")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("rclone is missing: deploy/setup/rclone.sh bin/rclone builds it")
	}
	s, files := &Server{t: t}, t.TempDir()
	for _, name := range buckets {
		if err := os.Mkdir(filepath.Join(files, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(t.TempDir(), "output")
	output, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	cmd := exec.Command(program, "serve", "s3", "--addr", "127.0.0.1:0", "--auth-key", AccessKey+","+SecretKey, "--config", "", files)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); <-ended })
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		said, err := os.ReadFile(log)
		if at := listens.FindSubmatch(said); err == nil && at != nil {
			s.URL = string(at[1])
			return s
		}
		select {
		case <-tick.C:
		case <-ended:
			t.Fatalf("rclone ended: %s", said)
		}
	}
}

// listens is how rclone says where.
var listens = regexp.MustCompile(`Starting s3 server on \[(http://[0-9.:]+)/?\]`)
