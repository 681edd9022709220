// Command releasecheck reads a release archive, omoi-<os>-<arch>.tar.gz, and fails if the archive is too large, or if its
// program is packed, built for another platform, built with test doubles, or without the agents of both Linux architectures.
//
//	releasecheck ARCHIVE AGENT...
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	maxArchive = 30_000_000 // bytes
	program    = "omoi/bin/omoi"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: releasecheck ARCHIVE AGENT...")
		os.Exit(2)
	}
	size, err := check(os.Args[1], maxArchive, os.Args[2:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "releasecheck: %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stdout, "release: %s, %.1f MB of at most %.0f MB, agents inside, no test doubles\n", os.Args[1], float64(size)/1e6, maxArchive/1e6)
}

// check returns the size of the archive and everything that is wrong about it.
func check(archive string, limit int, agents []string) (size int, err error) {
	raw, err := os.ReadFile(archive) //nolint:gosec // named on the command line
	if err != nil {
		return 0, err
	}
	var errs []error
	if len(raw) > limit {
		errs = append(errs, fmt.Errorf("%d bytes, at most %d allowed", len(raw), limit))
	}
	files, err := unpack(raw)
	if err != nil {
		return len(raw), err
	}
	for _, want := range []string{program, "omoi/LICENSE", "omoi/README.md", "omoi/share/completions/omoi.bash", "omoi/share/man/man1/omoi.1"} {
		if files[want] == nil {
			errs = append(errs, fmt.Errorf("missing %s", want))
		}
	}
	return len(raw), errors.Join(append(errs, checkProgram(files[program], platform(archive), agents))...)
}

func unpack(raw []byte) (map[string][]byte, error) {
	plain, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			return nil, err
		}
	}
}

// platform returns os-arch of the archive's name.
func platform(archive string) string {
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archive), "omoi-"), ".tar.gz")
}

// checkProgram checks a stripped program: the names of its functions stay in it, and so does its build information unless the
// program is packed.
func checkProgram(omoi []byte, platform string, agents []string) error {
	errs := []error{checkPlatform(omoi, platform)}
	for _, banned := range []string{"omoi/internal/testkit", "omoi/internal/bench"} {
		if bytes.Contains(omoi, []byte(banned)) {
			errs = append(errs, fmt.Errorf("%s contains %s", program, banned))
		}
	}
	for _, path := range agents {
		agent, err := os.ReadFile(path) //nolint:gosec // named on the command line
		if err == nil && !bytes.Contains(omoi, agent) {
			err = fmt.Errorf("%s does not contain %s", program, path)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func checkPlatform(omoi []byte, platform string) error {
	info, err := buildinfo.Read(bytes.NewReader(omoi))
	if err != nil {
		return fmt.Errorf("%s is packed or damaged: %w", program, err)
	}
	built := map[string]string{}
	for _, s := range info.Settings {
		built[s.Key] = s.Value
	}
	if got := built["GOOS"] + "-" + built["GOARCH"]; got != platform {
		return fmt.Errorf("%s is built for %s", program, got)
	}
	return nil
}
