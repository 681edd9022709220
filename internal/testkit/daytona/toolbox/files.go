package toolbox

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

type fileInfo struct {
	Name        string `json:"name"`
	Path        string `json:"path"`
	IsDir       bool   `json:"isDir"`
	Size        int64  `json:"size"`
	Mode        string `json:"mode"`
	Permissions string `json:"permissions"`
	Owner       string `json:"owner"`
	Group       string `json:"group"`
	ModifiedAt  string `json:"modifiedAt"`
	ModTime     string `json:"modTime"`
}

func describeFile(path string, info fs.FileInfo) fileInfo {
	owner, group := "", ""
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		owner, group = strconv.Itoa(int(st.Uid)), strconv.Itoa(int(st.Gid))
	}
	if found, err := user.LookupId(owner); err == nil {
		owner = found.Username
	}
	return fileInfo{
		Name: info.Name(), Path: path, IsDir: info.IsDir(), Size: info.Size(), Mode: info.Mode().String(),
		Permissions: fmt.Sprintf("%04o", info.Mode().Perm()), Owner: owner, Group: group,
		ModifiedAt: info.ModTime().UTC().Format(time.RFC3339Nano), ModTime: info.ModTime().String(),
	}
}

func (d *daemon) fileInfo(w http.ResponseWriter, r *http.Request) error {
	path, err := d.at(r.URL.Query().Get("path"))
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, describeFile(path, info))
}

func (d *daemon) listFiles(w http.ResponseWriter, r *http.Request) error {
	root, err := d.at(r.URL.Query().Get("path"))
	if err != nil {
		root = d.cfg.Home
	}
	depth := 1
	if text := r.URL.Query().Get("depth"); text != "" {
		if depth, err = strconv.Atoi(text); err != nil || depth < 1 {
			return badRequest("depth must be a positive integer")
		}
	}
	out := []fileInfo{}
	if err := walk(root, depth, &out); err != nil {
		return err
	}
	return answer(w, http.StatusOK, out)
}

func walk(dir string, depth int, out *[]fileInfo) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			continue // gone meanwhile
		}
		path := filepath.Join(dir, entry.Name())
		*out = append(*out, describeFile(path, info))
		if entry.IsDir() && depth > 1 {
			_ = walk(path, depth-1, out) // a folder that is closed to us shows as one
		}
	}
	return nil
}

func (d *daemon) deleteFile(w http.ResponseWriter, r *http.Request) error {
	path, err := d.at(r.URL.Query().Get("path"))
	if err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.IsDir() && r.URL.Query().Get("recursive") != "true" {
		return badRequest("cannot delete a directory without recursive")
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (d *daemon) makeFolder(w http.ResponseWriter, r *http.Request) error {
	path, err := d.at(r.URL.Query().Get("path"))
	if err != nil {
		return err
	}
	mode, err := octal(r.URL.Query().Get("mode"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(path, mode); err != nil {
		return err
	}
	w.WriteHeader(http.StatusCreated)
	return nil
}

func octal(text string) (fs.FileMode, error) {
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || n > 0o7777 {
		return 0, badRequest("mode must be an octal number of permissions")
	}
	return fs.FileMode(n), nil
}

// move never overwrites.
func (d *daemon) move(w http.ResponseWriter, r *http.Request) error {
	source, err := d.at(r.URL.Query().Get("source"))
	if err != nil {
		return err
	}
	destination, err := d.at(r.URL.Query().Get("destination"))
	if err != nil {
		return err
	}
	if _, err := os.Lstat(source); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(destination)); err != nil {
		return err
	}
	if exists(destination) {
		return &fault{http.StatusConflict, "CONFLICT", "destination already exists: " + destination}
	}
	if err := os.Rename(source, destination); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

func (d *daemon) permissions(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	path, err := d.at(query.Get("path"))
	if err != nil {
		return err
	}
	if query.Get("owner") != "" || query.Get("group") != "" {
		if err := chown(path, query.Get("owner"), query.Get("group")); err != nil {
			return err
		}
	}
	if text := query.Get("mode"); text != "" {
		mode, err := octal(text)
		if err != nil {
			return err
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

func chown(path, owner, group string) error {
	uid, gid := -1, -1
	if owner != "" {
		found, err := user.Lookup(owner)
		if err != nil {
			return badRequest("unknown owner " + owner)
		}
		uid, _ = strconv.Atoi(found.Uid)
	}
	if group != "" {
		found, err := user.LookupGroup(group)
		if err != nil {
			return badRequest("unknown group " + group)
		}
		gid, _ = strconv.Atoi(found.Gid)
	}
	return os.Chown(path, uid, gid)
}

// openRegular opens a file that ends: a pipe would be waited for without end.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = badRequest(path + " is not a regular file")
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}
