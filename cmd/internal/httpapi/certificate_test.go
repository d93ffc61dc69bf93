package httpapi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCertificateIsExchanged: new files count from the next connection on; files that cannot
// be used leave the certificate of before, and the log says so.
func TestCertificateIsExchanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var log strings.Builder
	c := &certificate{cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem"), log: slog.New(slog.NewTextHandler(&log, nil))}
	now := time.Now()
	if err := c.load(now); err == nil {
		t.Error("there are no files, and no error")
	}
	serial := func() int64 {
		t.Helper()
		pair, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.SerialNumber.Int64()
	}
	for i, step := range []struct {
		write func()
		want  int64
		fails bool
	}{
		{func() { writeCertificate(t, c, 1, now) }, 1, false},
		{func() {}, 1, false},
		{func() { writeCertificate(t, c, 2, now.Add(time.Minute)) }, 2, false},
		{func() { writeFile(t, c.cert, "no certificate", now.Add(2*time.Minute)) }, 2, true},
		{func() { _ = os.Remove(c.key) }, 2, true},
		{func() { writeCertificate(t, c, 3, now.Add(3*time.Minute)) }, 3, false},
	} {
		step.write()
		now = now.Add(2 * lookEvery)
		if err := c.load(now); (err != nil) != step.fails {
			t.Errorf("step %d: %v", i, err)
		}
		if got := serial(); got != step.want {
			t.Errorf("step %d: certificate %d, want %d", i, got, step.want)
		}
	}
}

func writeCertificate(t *testing.T, c *certificate, serial int64, at time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, c.cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})), at)
	writeFile(t, c.key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), at)
}

func writeFile(t *testing.T, path, text string, at time.Time) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}
