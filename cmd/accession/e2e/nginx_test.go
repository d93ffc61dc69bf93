//go:build !race

package e2e

import (
	"testing"

	"github.com/accession-ingest/accession/internal/testkit/webserver"
)

// nginxConf serves a directory, and keeps what PUT sends there.
const nginxConf = `daemon off;
ROOT
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
		root FILES;
		dav_methods PUT;
	}
}
`

// nginxServer starts nginx with a directory of its own and returns its URL.
func nginxServer(b *testing.B) string {
	b.Helper()
	return webserver.Start(b, "nginx", nginxConf, b.TempDir(), "")
}
