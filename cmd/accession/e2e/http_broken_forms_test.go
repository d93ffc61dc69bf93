package e2e

import (
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// Broken forms and uploads in pieces, which the OpenAPI description does not have.

var (
	crossrefForms = []string{"/servlet/deposit", "/v2/deposits"}
	merrittForms  = []string{"/object/ingest", "/object/update", "/poster/submit", "/poster/update"}
)

const multipartB = "multipart/form-data; boundary=b"

// formBody writes a form whose boundary is b.
func formBody(fields ...field) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString("--b\r\nContent-Disposition: form-data; name=\"" + f.name + "\"")
		if f.file != "" {
			b.WriteString("; filename=\"" + f.file + "\"\r\nContent-Type: application/octet-stream")
		}
		b.WriteString("\r\n\r\n" + f.value + "\r\n")
	}
	return b.String() + "--b--\r\n"
}

// wrongForm is a way in which a form is broken.
type wrongForm struct {
	fields []field
	status int // 0 = 400
	code   app.Kind
}

var (
	anArticle = field{"fname", "<doc_batch/>", "a.xml"}
	aLetter   = field{"file", "a letter", "letter.txt"}
	inTest    = field{name: "profile", value: "test"}
)

// crossrefWrong are forms of Crossref's clients, by callers who are known by the header.
var crossrefWrong = []wrongForm{
	{fields: nil},
	{fields: []field{{name: "operation", value: "doMDUpload"}}},
	{fields: []field{{name: "fname", value: "no file"}}},
	{fields: []field{{name: "operation", value: "doAll"}, anArticle}},
	{fields: []field{{name: "operation", value: "doTransferDOIsUpload"}, anArticle}},
	{fields: []field{{name: "operation", value: "doDOICitUpload"}, anArticle}},
	{fields: []field{{name: "operation", value: "doMDUpload"}, {name: "operation", value: "doQueryUpload"}, anArticle}},
	{fields: []field{anArticle, {name: "operation", value: "doMDUpload"}}},
	{fields: []field{anArticle, {"fname", "<doc_batch/>", "b.xml"}}},
	{fields: []field{{name: "login_id", value: "another"}, {name: "login_passwd", value: "x"}, anArticle}},
	{fields: []field{{name: "area", value: strings.Repeat("x", 9<<10)}, anArticle}},
	{fields: append(make([]field, 70), anArticle)},
	{fields: []field{{"fname", "<doc_batch/>", ".."}}},
	{fields: []field{{"fname", "<doc_batch/>", "a\u202eb.xml"}}},
	{fields: []field{{name: "profile", value: "none"}, anArticle}, status: http.StatusNotFound, code: app.NotFound},
	{fields: []field{{"mdFile", strings.Repeat("x", 300<<10), "a.xml"}}},
}

// merrittWrong are forms of Merritt's clients.
var merrittWrong = []wrongForm{
	{fields: nil},
	{fields: []field{aLetter}},
	{fields: []field{inTest}},
	{fields: []field{inTest, {name: "file", value: "no file"}}},
	{fields: []field{inTest, {name: "surprise", value: "1"}, aLetter}},
	{fields: []field{inTest, {name: "type", value: "odd"}, aLetter}},
	{fields: []field{inTest, {name: "digestType", value: "sha-256"}, {name: "digestValue", value: "12"}, aLetter}},
	{fields: []field{inTest, {name: "digestValue", value: "12"}, aLetter}},
	{fields: []field{inTest, {name: "digestType", value: "sha-256"}, {name: "digestValue", value: strings.Repeat("0", 64)}, aLetter}},
	{fields: []field{inTest, {name: "synchronousMode", value: "true"}, aLetter}},
	{fields: []field{inTest, {name: "responseForm", value: "html"}, aLetter}},
	{fields: []field{inTest, {name: "type", value: "batch-manifest"}, {name: "localIdentifier", value: "x"}, aLetter}},
	{fields: []field{inTest, {name: "title", value: "a\u202eb"}, {name: "localIdentifier", value: "x"}, aLetter}},
	{fields: []field{inTest, {name: "profile", value: "sand"}, aLetter}},
	{fields: []field{inTest, aLetter, {name: "filename", value: "other.txt"}}},
	{fields: []field{inTest, aLetter, {"file", "a letter", "second.txt"}}},
	{fields: []field{inTest, {"file", "a letter", "."}}},
	{fields: []field{inTest, {"file", strings.Repeat("x", 300<<10), "large.bin"}}},
	{fields: []field{{name: "profile", value: "none"}, aLetter}, status: http.StatusNotFound, code: app.NotFound},
}

// form breaks a request of one of the forms.
func (b *breaker) form(*operationOf) (brokenRequest, bool) {
	paths, wrong := crossrefForms, crossrefWrong
	if b.random.IntN(3) > 0 {
		paths, wrong = merrittForms, merrittWrong
	}
	r := brokenRequest{kind: "form", method: http.MethodPost, path: chosen(b.random, paths) + chosen(b.random, []string{"", "/"}), contentType: multipartB, key: true, status: http.StatusBadRequest, code: app.Invalid}
	switch b.random.IntN(8) {
	case 0:
		r.kind, r.key, r.status, r.code = "form, caller unknown", false, http.StatusUnauthorized, app.Unauthenticated
		r.body = formBody(inTest, chosen(b.random, []field{anArticle, aLetter}))
	case 1:
		r.kind, r.body = "form, media type", formBody(inTest, anArticle)
		r.contentType = chosen(b.random, []string{"", "application/json", "multipart/form-data", "multipart/mixed; boundary=b", "multipart/form-data; boundary", "\xff"})
	case 2:
		r.kind, r.body = "form, broken", formBody(inTest, field{"file", "a letter", "a.txt"}, field{"fname", "x", "a.txt"})
		r.body = r.body[:b.random.IntN(len(r.body)-20)]
	case 3:
		r.kind, r.method, r.status = "form, method", chosen(b.random, []string{"GET", "PUT", "DELETE", "BREW"}), http.StatusMethodNotAllowed
	case 4:
		r.kind, r.method, r.path, r.contentType = "form, status", http.MethodGet, "/servlet/submissionDownload?", ""
		asks := chosen(b.random, []string{"", "file_name=a&doc_batch_id=b", "file_name=a&type=all", "file_name=%zz", "file_name=a&usr=another", "file_name=a&file_name=b"})
		if b.random.IntN(2) > 0 {
			r.method, r.contentType, r.body = http.MethodPost, "application/x-www-form-urlencoded", asks
		} else {
			r.path += asks
		}
	default:
		w := chosen(b.random, wrong)
		if r.body = formBody(w.fields...); w.status != 0 {
			r.status, r.code = w.status, w.code
		}
	}
	return r, true
}

// pieces breaks a request of an upload that comes in pieces.
func (b *breaker) pieces(*operationOf) (brokenRequest, bool) {
	const version, size, bytes = "Tus-Resumable: 1.0.0", "Upload-Length: 8", "Content-Type: application/offset+octet-stream"
	about := tusMetadata("profile=test", "filename=letter.txt")
	r := brokenRequest{kind: "begin of an upload", method: http.MethodPost, path: resumables, key: true, headers: []string{version, size, about}, status: http.StatusBadRequest, code: app.Invalid}
	switch b.random.IntN(8) {
	case 0:
		r.kind, r.key, r.status, r.code = "upload, caller unknown", false, http.StatusUnauthorized, app.Unauthenticated
	case 1:
		r.kind, r.headers[0], r.status = "upload, version", chosen(b.random, []string{"Tus-Resumable: 0.2.2", "Tus-Resumable: ", "X: y"}), http.StatusPreconditionFailed
	case 2:
		r.kind, r.headers[1] = "upload, length", chosen(b.random, []string{"Upload-Length: ", "Upload-Length: -1", "Upload-Length: x", "Upload-Length: 1e3", "Upload-Length: 99999999999999999999"})
	case 3:
		r.kind, r.headers[2] = "upload, metadata", chosen(b.random, []string{"X: y", "Upload-Metadata: profile !", tusMetadata("profile=test"), tusMetadata("filename=a.txt"),
			tusMetadata("profile=test", "filename=../a.txt"), tusMetadata("profile=test", "filename=a.txt", "title=a\x00b"), tusMetadata("profile=test", "filename=a.txt", "title=\xff"),
			tusMetadata("profile=test", "filename=a.txt", "mode=odd"), tusMetadata("profile=test", "filename=a.txt", "title=a", "title=b"), tusMetadata("profile=test", "filename=a.txt", "digest=12")})
	case 4:
		r.kind, r.headers, r.status = "upload, too large", []string{version, about, "Upload-Length: " + chosen(b.random, []string{"300000", "9000000000000000000"})}, http.StatusRequestEntityTooLarge
	case 5:
		r.kind, r.path, r.status, r.code = "upload, absent", resumables+"/"+chosen(b.random, []string{"x", "%00", "..%2f..", strings.Repeat("9", 200), "019ac2f0-0000-7000-8000-000000000000"}), http.StatusNotFound, app.NotFound
		r.method, r.headers = chosen(b.random, []string{http.MethodPatch, http.MethodDelete}), []string{version, bytes, "Upload-Offset: 0"}
	case 6:
		r.kind, r.method, r.path, r.status, r.code = "upload, absent", http.MethodHead, resumables+"/019ac2f0-0000-7000-8000-000000000000", http.StatusNotFound, ""
	default:
		r.kind, r.method, r.status = "upload, method", chosen(b.random, []string{"PUT", "BREW", "PATCH"}), http.StatusMethodNotAllowed
	}
	return r, true
}

// goodForm returns a good request that no operation of the description has: of these, the
// deposits become batches.
func goodForm(random *rand.Rand) brokenRequest {
	ok := brokenRequest{kind: "good deposit", method: http.MethodPost, key: true, status: http.StatusOK}
	if random.IntN(2) == 0 {
		ok.path, ok.contentType, ok.body = chosen(random, []string{"/object/ingest", "/poster/submit"}), multipartB, formBody(inTest, field{name: "type", value: "file"}, aLetter)
		return ok
	}
	ok.path, ok.status, ok.body = resumables, http.StatusCreated, "a letter"
	ok.headers = []string{"Tus-Resumable: 1.0.0", "Upload-Length: 8", "Content-Type: application/offset+octet-stream", tusMetadata("profile=test", "filename=letter.txt")}
	return ok
}
