//go:build !race

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nginxConf serves a directory, and keeps what PUT sends there.
const nginxConf = `daemon off;
USER
worker_processes 2;
pid DIR/pid;
error_log DIR/error.log;
events {}
http {
	access_log off;
	sendfile on;
	client_max_body_size 0;
	client_body_temp_path DIR/body;
	proxy_temp_path DIR/proxy;
	fastcgi_temp_path DIR/fastcgi;
	uwsgi_temp_path DIR/uwsgi;
	scgi_temp_path DIR/scgi;
	server {
		listen ADDRESS;
		root DIR/files;
		dav_methods PUT;
	}
}
`

// nginxServer starts nginx with a directory of its own and returns its URL.
func nginxServer(b *testing.B) string {
	b.Helper()
	program := ""
	for _, at := range []string{"nginx", "/usr/sbin/nginx", "../../../bin/nginx/usr/sbin/nginx"} {
		if found, err := exec.LookPath(at); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		b.Fatal("nginx is missing: deploy/setup/nginx.sh bin/nginx unpacks it")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		b.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	dir, as := b.TempDir(), ""
	if me, err := user.Current(); err == nil && me.Uid == "0" {
		as = "user root;" // else its workers could not read the directory
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.Mkdir(filepath.Join(dir, "files"), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(conf, []byte(strings.NewReplacer("DIR", dir, "ADDRESS", address, "USER", as).Replace(nginxConf)), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(program, "-p", dir, "-c", conf, "-e", filepath.Join(dir, "error.log")) //nolint:noctx // the benchmark ends it by a signal
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it was ended
	})
	waitFor(b, "nginx", func() bool {
		c, err := net.Dial("tcp", address) //nolint:noctx // it is there or not
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return fmt.Sprint("http://", address)
}
