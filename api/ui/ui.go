// Package ui holds the built web page. make ui builds it from web/page.
package ui

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io/fs"
	"mime"
	"path"
	"strings"
	"sync"
)

// Policy is the Content-Security-Policy of the page: no inline code, no other host, and no string becomes markup.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Index is the name of the document that all routes of the page show.
const Index = "index.html"

//go:embed all:dist
var dist embed.FS

// File is a file of the page.
type File struct {
	Type  string
	Plain []byte

	encoded map[string]func() []byte // by content coding
}

// Encoded returns the file in a content coding; nil if the coding saves nothing. The first request for gzip compresses the file.
func (f File) Encoded(coding string) []byte {
	if pack := f.encoded[coding]; pack != nil {
		return pack()
	}
	return nil
}

// Immutable reports whether the content of a file never changes, because the name has a hash of the content.
func Immutable(name string) bool { return strings.HasPrefix(name, "assets/") }

// Files returns the files by name, for example assets/index-1a2b3c4d.js. The caller must not modify them.
func Files() map[string]File { return files() }

//nolint:gochecknoglobals // read once
var files = sync.OnceValue(func() map[string]File {
	all := map[string]File{}
	err := fs.WalkDir(dist, "dist", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(at) == ".br" {
			return err
		}
		content, err := dist.ReadFile(at)
		all[strings.TrimPrefix(at, "dist/")] = fileOf(at, content)
		return err
	})
	if err != nil {
		panic(err) // the files are part of the program
	}
	return all
})

func fileOf(at string, content []byte) File {
	packed := map[string]func() []byte{"gzip": sync.OnceValue(func() []byte { return gzipped(content) })}
	if brotli, err := dist.ReadFile(at + ".br"); err == nil { // the build leaves those out that save nothing
		packed["br"] = func() []byte { return brotli }
	}
	return File{Type: typeOf(at), Plain: content, encoded: packed}
}

// gzipped returns nil if compression saves nothing.
func gzipped(content []byte) []byte {
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
	_, _ = w.Write(content)
	if _ = w.Close(); packed.Len() >= len(content) { // a buffer never fails
		return nil
	}
	return packed.Bytes()
}

// typeOf does not depend on the files of the system for the types that the page has.
func typeOf(at string) string {
	known := map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
		".svg": "image/svg+xml", ".png": "image/png", ".webmanifest": "application/manifest+json",
	}
	if t, ok := known[path.Ext(at)]; ok {
		return t
	}
	return mime.TypeByExtension(path.Ext(at))
}
