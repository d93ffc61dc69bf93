package unpack

import (
	"bytes"
	"context"
	"crypto/md5"  //nolint:gosec // bags have such digests, which are compared and not trusted
	"crypto/sha1" //nolint:gosec // the same
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"io"

	"github.com/accession-ingest/accession/domain/bag"
	"github.com/accession-ingest/accession/domain/container"
	"github.com/accession-ingest/accession/domain/manifest"
)

// Container is a container on disk.
type Container struct {
	Name   string
	Size   int64
	SHA256 string // as it was measured
	Data   io.ReaderAt
}

// MaxTexts is how many bytes the texts of a bag, its manifests among them, may have together.
const MaxTexts = 64 << 20

// Inspect reads a container to its end and returns what is in it. The error is a
// [*container.Error] if the container may not be unpacked, and another one if it cannot be
// read or ctx has ended.
func Inspect(ctx context.Context, c Container, limits container.Limits) (container.Listing, error) {
	list := container.Listing{Container: c.Name, SHA256: c.SHA256, Size: c.Size}
	texts := map[string][]byte{}
	var held int64
	tooLarge, citations := "", map[string][]byte{}
	check := container.NewChecker(c.Name, c.Size, limits)
	format, err := walk(ctx, c, limits, func(m member) error {
		name, err := check.Member(m.Member)
		if err != nil || name == "" {
			return err
		}
		sum := sha256.New()
		to := io.Writer(sum)
		var text *bytes.Buffer
		citation := isCitation(name)
		if citation || bag.Text(name) && tooLarge == "" {
			text = new(bytes.Buffer)
			most := MaxTexts - held
			if citation {
				most = container.MaxCitation + 1
			}
			to = io.MultiWriter(sum, &first{text, most + 1})
		}
		n, err := m.copy(to)
		if err != nil {
			return err
		}
		switch {
		case citation:
			citations[name] = text.Bytes()
		case text != nil && n > MaxTexts-held:
			tooLarge = name
		case text != nil:
			texts[name], held = text.Bytes(), held+n
		}
		list.Files = append(list.Files, container.Found{Name: name, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))})
		return nil
	})
	list.Format = format
	if err == nil {
		err = check.End()
	}
	if err == nil {
		err = compare(ctx, c, limits, &list, texts, tooLarge)
	}
	if err == nil {
		err = cite(&list, citations)
	}
	return list, err
}

// isCitation reports whether a file of a container may be its depositor's citation.
func isCitation(name string) bool {
	return name == container.Citation || len(name) > len(container.Citation) && name[len(name)-len(container.Citation)-1:] == "/"+container.Citation
}

// cite reads the citation: the one at the top, or of a bag the one beside its declaration, or
// at the top of its payload.
func cite(list *container.Listing, citations map[string][]byte) (err error) {
	where := []string{container.Citation}
	if b := list.Bag; b != nil {
		where = append(where, b.Root+container.Citation, b.Root+"data/"+container.Citation)
	}
	for _, name := range where {
		if data, ok := citations[name]; ok {
			list.ERC, err = container.ParseERC(name, data)
			return err
		}
	}
	return nil
}

// compare compares the files of a bag with its manifests. A container that is none is left
// alone.
func compare(ctx context.Context, c Container, limits container.Limits, list *container.Listing, texts map[string][]byte, tooLarge string) error {
	root, ok := bag.Root(list.Files)
	if !ok {
		return nil
	}
	if tooLarge != "" {
		return container.Fault(bag.CodeText, tooLarge, "has more bytes than are read of a bag's own files, %d for all of them together: divide the bag", MaxTexts)
	}
	b, err := bag.Read(root, texts)
	if err != nil {
		return err
	}
	list.Bag = &container.Bag{Root: root, Version: b.Version()}
	var more []manifest.Algorithm
	for _, a := range b.Algorithms() {
		list.Bag.Algorithms = append(list.Bag.Algorithms, string(a))
		if a != manifest.SHA256 {
			more = append(more, a)
		}
	}
	files := make([]bag.File, len(list.Files))
	for i, f := range list.Files {
		files[i] = bag.File{Name: f.Name, Size: f.Size, Digests: map[manifest.Algorithm]string{manifest.SHA256: f.SHA256}}
	}
	if more != nil {
		err = each(ctx, c, limits, *list, func(i int, r io.Reader) error { return digest(files[i].Digests, more, r) })
	}
	if err != nil {
		return err
	}
	return b.Check(files)
}

// digest adds the digests of a file.
func digest(into map[manifest.Algorithm]string, by []manifest.Algorithm, r io.Reader) error {
	sums := make([]hash.Hash, len(by))
	to := make([]io.Writer, len(by))
	for i, a := range by {
		if sums[i] = newHash(a); sums[i] == nil {
			return fmt.Errorf("the algorithm %s is not known", a)
		}
		to[i] = sums[i]
	}
	_, err := io.Copy(io.MultiWriter(to...), r)
	for i, a := range by {
		into[a] = hex.EncodeToString(sums[i].Sum(nil))
	}
	return err
}

func newHash(a manifest.Algorithm) hash.Hash {
	switch a {
	case manifest.MD5:
		return md5.New() //nolint:gosec // see above
	case manifest.SHA1:
		return sha1.New() //nolint:gosec // see above
	case manifest.SHA256:
		return sha256.New()
	case manifest.SHA384:
		return sha512.New384()
	case manifest.SHA512:
		return sha512.New()
	case manifest.CRC32:
		return crc32.NewIEEE()
	case manifest.Adler32:
		return adler32.New()
	}
	return nil
}

// errChanged is the error of a container that is not what was inspected.
var errChanged = errors.New("the container was changed since it was inspected")

// Extract hands out the files of a container that was inspected, in the order in which they
// stand there: i counts those of the listing. What is handed out ends with an error if it is
// not what was inspected.
func Extract(ctx context.Context, c Container, limits container.Limits, list container.Listing, file func(i int, r io.Reader) error) error {
	return each(ctx, c, limits, list, func(i int, r io.Reader) error {
		sum := sha256.New()
		if err := file(i, io.TeeReader(r, sum)); err != nil {
			return err
		}
		if got := hex.EncodeToString(sum.Sum(nil)); got != list.Files[i].SHA256 {
			return fmt.Errorf("%s: %w", list.Files[i].Name, errChanged)
		}
		return nil
	})
}

// each reads the files of a listing again.
func each(ctx context.Context, c Container, limits container.Limits, list container.Listing, file func(i int, r io.Reader) error) error {
	n := 0
	check := container.NewChecker(c.Name, c.Size, limits)
	_, err := walk(ctx, c, limits, func(m member) error {
		name, err := check.Member(m.Member)
		if err != nil || name == "" {
			return err
		}
		if n == len(list.Files) || list.Files[n].Name != name {
			return errChanged
		}
		n++
		return m.read(func(r io.Reader) error { return file(n-1, r) })
	})
	if err == nil && n < len(list.Files) {
		err = errChanged
	}
	return err
}

// first keeps the first bytes of what is written to it.
type first struct {
	to   *bytes.Buffer
	left int64
}

// Write implements io.Writer.
func (f *first) Write(p []byte) (int, error) {
	n := min(int64(len(p)), f.left)
	f.to.Write(p[:n])
	f.left -= n
	return len(p), nil
}
