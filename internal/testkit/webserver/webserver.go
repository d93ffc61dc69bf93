// Package webserver starts the web servers that list directories: nginx, Apache, lighttpd,
// Caddy and Python's. deploy/setup/webservers.sh unpacks those that the machine lacks.
package webserver

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/accession-ingest/accession/internal/testkit/unpacked"
)

// Kinds are the servers by name, with the ways in which they list.
var Kinds = []string{"nginx", "nginx json", "apache plain", "apache columns", "apache table", "lighttpd", "caddy", "caddy json", "python"}

// configurations have the servers' configuration files; DIR is the directory of the server,
// FILES the one that it lists, ADDRESS and PORT where it listens, MODULES where its modules are
// and ROOT what only a process of root has to say.
var configurations = map[string]string{
	"nginx": `
daemon off;
ROOT
worker_processes 1;
pid DIR/nginx.pid;
error_log DIR/error.log;
events {}
http {
	access_log off;
	charset utf-8;
	client_body_temp_path DIR/body;
	proxy_temp_path DIR/proxy;
	fastcgi_temp_path DIR/fastcgi;
	uwsgi_temp_path DIR/uwsgi;
	scgi_temp_path DIR/scgi;
	server {
		listen ADDRESS;
		location / { root FILES; autoindex on; OPTIONS }
	}
}
`,
	"apache": `
Listen ADDRESS
ServerName localhost
ServerRoot DIR
PidFile DIR/apache.pid
ErrorLog DIR/error.log
DefaultRuntimeDir DIR
Mutex file:DIR
LoadModule mpm_event_module MODULES/mod_mpm_event.so
LoadModule authz_core_module MODULES/mod_authz_core.so
LoadModule dir_module MODULES/mod_dir.so
LoadModule autoindex_module MODULES/mod_autoindex.so
ROOT
DocumentRoot FILES
<Directory FILES>
	Options +Indexes
	Require all granted
	OPTIONS
</Directory>
`,
	"lighttpd": `
server.modules = ("mod_dirlisting")
server.document-root = "FILES"
server.bind = "127.0.0.1"
server.port = PORT
server.errorlog = "DIR/error.log"
dir-listing.activate = "enable"
dir-listing.encoding = "utf-8"
`,
	"caddy": `
{
	admin off
	auto_https off
	storage file_system DIR
}
http://ADDRESS {
	OPTIONS
	root * FILES
	file_server browse
}
`,
}

// options are what the ways of listing add.
var options = map[string]string{
	"nginx json":     "autoindex_format json;",
	"caddy json":     "request_header Accept application/json",
	"apache columns": "IndexOptions FancyIndexing Charset=UTF-8 NameWidth=*",
	"apache table":   "IndexOptions FancyIndexing HTMLTable Charset=UTF-8 NameWidth=*",
	"apache plain":   "IndexOptions Charset=UTF-8",
}

// Program returns the path of a server's program, such as nginx.
func Program(t testing.TB, name string) string {
	t.Helper()
	web := unpacked.Dir(t, "web")
	for _, at := range []string{name, "/usr/sbin/" + name, filepath.Join(web, "usr/sbin", name), filepath.Join(web, "usr/bin", name)} {
		if found, err := exec.LookPath(at); err == nil {
			return found
		}
	}
	t.Fatalf("%s is missing: deploy/setup/webservers.sh bin/web unpacks it", name)
	return ""
}

// List starts the server of a kind, which lists files, and returns its URL.
func List(t testing.TB, kind, files string) string {
	t.Helper()
	server, _, _ := strings.Cut(kind, " ")
	return Start(t, server, configurations[server], files, options[kind])
}

// Start starts a server with a configuration (see [List] for those that list) and returns its
// URL. The server ends with the test.
func Start(t testing.TB, server, configuration, files, options string) string {
	t.Helper()
	address, dir, conf := free(t), t.TempDir(), filepath.Join(t.TempDir(), "conf")
	host, port, _ := net.SplitHostPort(address)
	configuration = strings.NewReplacer("DIR", dir, "FILES", files, "ADDRESS", address, "PORT", port, "ROOT", asRoot(server),
		"OPTIONS", options, "MODULES", modules(t, server)).Replace(configuration)
	if err := os.WriteFile(conf, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(Program(t, programs[server]))
	switch server {
	case "nginx":
		cmd.Args = append(cmd.Args, "-p", dir, "-c", conf, "-e", filepath.Join(dir, "error.log"))
	case "apache":
		cmd.Args = append(cmd.Args, "-D", "FOREGROUND", "-f", conf)
	case "lighttpd":
		cmd.Args = append(cmd.Args, "-D", "-f", conf, "-m", modules(t, server))
	case "caddy":
		cmd.Args = append(cmd.Args, "run", "--adapter", "caddyfile", "--config", conf)
	case "python":
		cmd.Args = append(cmd.Args, "-m", "http.server", "--bind", host, "--directory", files, port)
	}
	log := filepath.Join(dir, "output")
	output, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr, cmd.Dir = output, output, dir
	// The libraries of Apache are unpacked beside it.
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(globs(t, "usr/lib/*-linux-gnu"), ":"), "HOME="+dir, "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); <-ended })
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return "http://" + address
		}
		select {
		case <-ended:
			said, _ := os.ReadFile(log)
			t.Fatalf("%s ended: %s", server, said)
		default:
		}
	}
}

// programs are the names of the servers' programs.
var programs = map[string]string{"nginx": "nginx", "apache": "apache2", "lighttpd": "lighttpd", "caddy": "caddy", "python": "python3"}

// asRoot lets the workers of a server read what the test has written, where the test is root.
func asRoot(server string) string {
	if os.Getuid() != 0 {
		return ""
	}
	return map[string]string{"nginx": "user root;", "apache": "User nobody\nGroup nogroup"}[server]
}

// free returns an address at which nothing listens.
func free(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// modules returns where the modules of a server are, "" = it has none.
func modules(t testing.TB, server string) string {
	t.Helper()
	name := map[string]string{"apache": "usr/lib/apache2/modules", "lighttpd": "usr/lib/lighttpd"}[server]
	if found := globs(t, name); name != "" && len(found) > 0 {
		return found[0]
	}
	return "/" + name
}

// globs returns what matches below the directory of unpacked servers.
func globs(t testing.TB, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(unpacked.Dir(t, "web"), pattern))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
