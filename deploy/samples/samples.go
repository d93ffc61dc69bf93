// Package samples holds small deposits, and serves them over HTTP as a
// depositor's web server would: the files, and manifests that name them by the
// address under which they were asked for.
//
//	/manifests/demo-batch.checkm    a batch of six objects, one of which must fail
//	/manifests/object-NAME.checkm   each object by itself
//	/files/NAME/PATH                the files
//	/files/single/stations.csv      a file to be deposited by itself
//	/files/metadata/records.xml     a metadata file with a warning and a failure
//
// All values in the files are invented for the purpose.
package samples

import (
	"bytes"
	"embed"
	"fmt"
	"net/http"
	"regexp"
	"time"
)

// Paths of the four sorts of deposit.
const (
	BatchManifest  = manifestPrefix + "demo-batch.checkm"
	ObjectManifest = manifestPrefix + "object-tides-north.checkm"
	SingleFile     = filePrefix + "single/stations.csv"
	MetadataFile   = filePrefix + "metadata/records.xml"
)

//go:embed files
var content embed.FS

// host is what a request may name as its host: a name or address, and a port.
var host = regexp.MustCompile(`^[A-Za-z0-9.:\[\]-]+$`)

// Handler serves the samples. Its manifests name the host of the request.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+filePrefix, func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, content, r.URL.Path)
	})
	mux.HandleFunc("GET "+manifestPrefix, func(w http.ResponseWriter, r *http.Request) {
		if !host.MatchString(r.Host) {
			http.Error(w, "the Host header names no host", http.StatusBadRequest)
			return
		}
		data, ok := Manifest("http://"+r.Host, r.URL.Path)
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintln(w, "Sample deposits of Accession:\n"+BatchManifest+"\n"+SingleFile+"\n"+MetadataFile)
		for _, o := range Objects() {
			_, _ = fmt.Fprintln(w, o.ManifestPath())
		}
	})
	return mux
}
