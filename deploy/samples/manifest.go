package samples

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

const (
	manifestPrefix = "/manifests/"
	filePrefix     = "/files/"
	registry       = "http://uc3.cdlib.org/registry/ingest/manifest/"
)

// What the manifests of objects and of batches have in each row.
var (
	fileColumns  = []string{"nfo:fileUrl", "nfo:hashAlgorithm", "nfo:hashValue", "nfo:fileSize", "nfo:fileLastModified", "nfo:fileName"}
	objectFields = append(fileColumns[:len(fileColumns):len(fileColumns)], "mrt:mimeType")
	batchFields  = append(fileColumns[:len(fileColumns):len(fileColumns)],
		"mrt:primaryIdentifier", "mrt:localIdentifier", "mrt:creator", "mrt:title", "mrt:date")
)

var algorithms = map[string]func() hash.Hash{
	"md5": md5.New, "sha-1": sha1.New, "sha-256": sha256.New, "sha-512": sha512.New,
}

func sum(algorithm string, data []byte) string {
	h := algorithms[algorithm]()
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// Manifest renders the manifest at path, such as [BatchManifest], for a server
// whose URLs start with base, such as http://127.0.0.1:8080. False if there is
// none at path.
func Manifest(base, path string) ([]byte, bool) {
	if path == BatchManifest {
		return batchManifest(base), true
	}
	for _, o := range Objects() {
		if path == o.ManifestPath() {
			return o.manifest(base), true
		}
	}
	return nil, false
}

// ManifestPath is where the object's manifest is served.
func (o Object) ManifestPath() string { return manifestPrefix + "object-" + o.Name + ".checkm" }

// manifest renders the object's manifest: one file a row.
func (o Object) manifest(base string) []byte {
	rows := make([][]string, 0, len(o.files))
	for _, f := range o.files {
		path := o.Name + "/" + f.name
		data, err := content.ReadFile("files/" + path)
		if err != nil {
			panic(err) // the files are part of the program, and a test reads them all
		}
		algorithm, value := o.algorithm, sum(o.algorithm, data)
		switch f.digest {
		case none:
			algorithm, value = "", ""
		case wrong:
			value = sum(o.algorithm, []byte("not the content of "+path))
		}
		rows = append(rows, []string{base + filePrefix + path, algorithm, value, fmt.Sprint(len(data)), "", f.name, f.mimeType})
	}
	return render("mrt-ingest-manifest", objectFields, rows)
}

// batchManifest renders the manifest of manifests: one object a row. The digests
// are those of the manifests as rendered for the same base.
func batchManifest(base string) []byte {
	var rows [][]string
	for _, o := range Objects() {
		data := o.manifest(base)
		path := o.ManifestPath()
		rows = append(rows, []string{base + path, "sha-256", sum("sha-256", data), fmt.Sprint(len(data)), "",
			strings.TrimPrefix(path, manifestPrefix), "", o.LocalID, o.Creator, o.Title, o.Date})
	}
	return render("mrt-batch-manifest", batchFields, rows)
}

// render writes checkm. The values hold neither pipes nor line breaks.
func render(profile string, fields []string, rows [][]string) []byte {
	var b strings.Builder
	b.WriteString("#%checkm_0.7\n#%profile | " + registry + profile + "\n")
	b.WriteString("#%prefix | mrt: | http://merritt.cdlib.org/terms#\n")
	b.WriteString("#%prefix | nfo: | http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#\n")
	b.WriteString("#%fields | " + strings.Join(fields, " | ") + "\n")
	for _, row := range rows {
		b.WriteString(strings.Join(row, " | ") + "\n")
	}
	b.WriteString("#%eof\n")
	return []byte(b.String())
}
