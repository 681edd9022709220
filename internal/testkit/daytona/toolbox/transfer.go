package toolbox

import (
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

type uploaded struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// bulkUpload takes files[N].file, each after the files[N].path that says where it goes.
func (d *daemon) bulkUpload(w http.ResponseWriter, r *http.Request) error {
	parts, err := r.MultipartReader()
	if err != nil {
		return badRequest(err.Error())
	}
	done, faults, paths := []uploaded{}, []string{}, map[string]string{}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			faults = append(faults, err.Error())
			break
		}
		one, err := d.take(part, paths)
		if err != nil {
			faults = append(faults, err.Error())
		} else if one.Path != "" {
			done = append(done, one)
		}
	}
	if len(faults) > 0 {
		return answer(w, http.StatusBadRequest, map[string]any{"errors": faults, "files": done})
	}
	return answer(w, http.StatusOK, map[string]any{"files": done})
}

// take handles one part: a path is noted, a file is written where its path said.
func (d *daemon) take(part *multipart.Part, paths map[string]string) (uploaded, error) {
	key, field, _ := strings.Cut(part.FormName(), ".")
	switch field {
	case "path":
		text, err := io.ReadAll(part)
		paths[key] = string(text)
		return uploaded{}, err
	case "file":
		path, err := d.at(paths[key])
		if err != nil {
			return uploaded{}, errors.New(part.FormName() + ": no path before the file")
		}
		n, err := store(path, part)
		return uploaded{path, n}, err
	default:
		return uploaded{}, errors.New(part.FormName() + ": unknown field")
	}
}

// store writes in place, as Daytona does: a broken upload leaves half a file.
func store(path string, from io.Reader) (int64, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // G301: as Daytona makes them
		return 0, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return 0, errors.New(path + " is not a regular file")
	}
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(file, from)
	return n, errors.Join(err, file.Close())
}

// upload takes one file, as a form or as the body itself.
func (d *daemon) upload(w http.ResponseWriter, r *http.Request) error {
	path, err := d.at(r.URL.Query().Get("path"))
	if err != nil {
		return err
	}
	var body io.Reader = r.Body
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		file, _, err := r.FormFile("file")
		if err != nil {
			return badRequest(err.Error())
		}
		defer file.Close() //nolint:errcheck // only read
		body = file
	}
	if _, err := store(path, body); err != nil {
		return err
	}
	return answer(w, http.StatusOK, map[string]string{"name": filepath.Base(path), "path": path, "type": "file"})
}

func (d *daemon) download(w http.ResponseWriter, r *http.Request) error {
	path, err := d.at(r.URL.Query().Get("path"))
	if err != nil {
		return err
	}
	file, info, err := openRegular(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	_, _ = io.CopyN(w, file, info.Size()) // a file that shrinks meanwhile breaks the answer off
	return nil
}

// bulkDownload answers a part for every path: its file, or what is wrong with it.
func (d *daemon) bulkDownload(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Paths []string `json:"paths"`
	}
	if err := read(r, &in); err != nil {
		return err
	}
	if len(in.Paths) == 0 {
		return badRequest("paths is required")
	}
	form := multipart.NewWriter(w)
	w.Header().Set("Content-Type", form.FormDataContentType())
	for _, path := range in.Paths {
		if err := d.sendPart(form, r, path); err != nil {
			return nil //nolint:nilerr // the caller is gone
		}
	}
	_ = form.Close()
	return nil
}

func (d *daemon) sendPart(form *multipart.Writer, r *http.Request, path string) error {
	at, err := d.at(path)
	if err != nil {
		return sendFault(form, r, path, err)
	}
	file, _, err := openRegular(at)
	if err != nil {
		return sendFault(form, r, path, err)
	}
	defer file.Close() //nolint:errcheck // only read
	part, err := form.CreateFormFile("file", path)
	if err != nil {
		return err
	}
	_, err = io.Copy(part, file)
	return err
}

func sendFault(form *multipart.Writer, r *http.Request, path string, cause error) error {
	part, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition("error", path)},
		"Content-Type":        {"application/json"},
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(part).Encode(describe(r, cause))
}
