package supervise

import (
	"path"
	"strings"
)

// anyPath reports whether one of the patterns covers a file. A pattern without a wildcard names
// a file or a folder with all that is in it; * stands for anything within one name, ** for any
// number of folders. Of an absolute path any end may fit, since nobody tells where the
// workspace is.
func anyPath(patterns []string, file string) bool {
	for _, p := range patterns {
		if covers(p, file) {
			return true
		}
	}
	return false
}

func covers(pattern, file string) bool {
	want, have := split(pattern), split(file)
	if len(want) == 0 {
		return true
	}
	if !strings.ContainsAny(want[len(want)-1], "*?[") {
		want = append(want, "**")
	}
	if !path.IsAbs(file) {
		return fits(want, have)
	}
	for i := range have {
		if fits(want, have[i:]) {
			return true
		}
	}
	return false
}

func split(file string) []string {
	file = strings.Trim(path.Clean("/"+strings.TrimSpace(file)), "/")
	if file == "" {
		return nil
	}
	return strings.Split(file, "/")
}

func fits(want, have []string) bool {
	if len(want) == 0 {
		return len(have) == 0
	}
	if want[0] == "**" {
		for i := range len(have) + 1 {
			if fits(want[1:], have[i:]) {
				return true
			}
		}
		return false
	}
	if len(have) == 0 {
		return false
	}
	ok, err := path.Match(want[0], have[0])
	return err == nil && ok && fits(want[1:], have[1:])
}
