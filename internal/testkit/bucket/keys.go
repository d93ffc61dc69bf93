package bucket

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// profile is the name of the key in the file that [SetKey] makes.
const profile = "accession-test"

// SetKey makes the file of keys, as the tools of AWS have it, that [Server.Location] names, for
// all tests of a package and the programs that they start. remove removes it again.
func SetKey() (remove func()) {
	dir, err := os.MkdirTemp("", "accession-keys-")
	file := filepath.Join(dir, "credentials")
	if err == nil {
		err = os.WriteFile(file, fmt.Appendf(nil, "[%s]\naws_access_key_id = %s\naws_secret_access_key = %s\n", profile, AccessKey, SecretKey), 0o600)
	}
	if err == nil {
		err = os.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	}
	if err != nil {
		panic(err)
	}
	return func() { _ = os.RemoveAll(dir) }
}

// Location returns the URL of an object store below a prefix of a bucket.
func (s *Server) Location(bucket, prefix string) string {
	return "s3://" + bucket + "/" + prefix + "?" + url.Values{"endpoint": {s.URL}, "region": {"us-east-1"}, "profile": {profile}}.Encode()
}
