package supervise

import (
	"encoding/json"
	"encoding/xml"
	"regexp"
	"strconv"
	"strings"
)

// report is the result of a test run as its runner writes it for programs.
type report struct {
	tests  int
	failed []string // names of failed tests
	whole  bool     // false: the report is cut off, so that the result is unknown
}

// reportIn returns the report in an output: of go test -json, in JUnit XML, in TAP, or the JSON of jest, vitest or
// pytest. Nil: the output has none.
func reportIn(text string) *report {
	for _, read := range []func(string) *report{goReport, xmlReport, tapReport, jsonReport} {
		if r := read(text); r != nil && (r.tests > 0 || !r.whole) {
			return r
		}
	}
	return nil
}

func (r *report) test(name string, failed bool) {
	r.tests++
	if failed {
		r.failed = append(r.failed, name)
	}
}

type goEvent struct {
	Action  string `json:"Action"`  //nolint:tagliatelle // as go test writes it
	Package string `json:"Package"` //nolint:tagliatelle // as go test writes it
	Test    string `json:"Test"`    //nolint:tagliatelle // as go test writes it
}

// goReport reads the events of go test -json. Each package must have an end.
func goReport(text string) *report {
	if !strings.Contains(text, `"Action":"`) {
		return nil
	}
	r, open := &report{whole: true}, map[string]bool{}
	for line := range strings.Lines(text) {
		var e goEvent
		switch {
		case !strings.Contains(line, `"Action":"`):
		case json.Unmarshal([]byte(line), &e) != nil:
			r.whole = false
		case e.Package == "": // of the build
		case e.Action == "pass", e.Action == "fail", e.Action == "skip":
			open[e.Package] = open[e.Package] && e.Test != ""
			r.test(strings.Trim(e.Package+"."+e.Test, "."), e.Action == "fail")
		default:
			open[e.Package] = true
		}
	}
	for _, running := range open {
		r.whole = r.whole && !running
	}
	return r
}

type xmlSuite struct {
	Suites []xmlSuite `xml:"testsuite"`
	Cases  []struct {
		Class   string    `xml:"classname,attr"`
		Name    string    `xml:"name,attr"`
		Failure *struct{} `xml:"failure"`
		Error   *struct{} `xml:"error"`
	} `xml:"testcase"`
}

// xmlReport reads JUnit XML.
func xmlReport(text string) *report {
	at := strings.Index(text, "<testsuite")
	if at < 0 {
		return nil
	}
	var root xmlSuite
	r := &report{whole: xml.NewDecoder(strings.NewReader(text[at:])).Decode(&root) == nil}
	r.suite(root)
	return r
}

func (r *report) suite(s xmlSuite) {
	for _, c := range s.Cases {
		r.test(c.Class+"."+c.Name, c.Failure != nil || c.Error != nil)
	}
	for _, inner := range s.Suites {
		r.suite(inner)
	}
}

var (
	tapPlan = regexp.MustCompile(`(?m)^1\.\.(\d+)`)
	tapLine = regexp.MustCompile(`(?m)^(not )?ok\b(?: \d+)?(?: -)? ?([^#\n]*)(#(?i: *(?:todo|skip)))?`)
)

// tapReport reads the Test Anything Protocol. The tests must be as many as planned.
func tapReport(text string) *report {
	if !strings.Contains(text, "1..") && !strings.Contains(text, "TAP version") { // for speed
		return nil
	}
	plan, tests := tapPlan.FindStringSubmatch(text), tapLine.FindAllStringSubmatch(text, -1)
	if plan == nil && !strings.Contains(text, "TAP version") {
		return nil
	}
	r := &report{whole: plan != nil && plan[1] == strconv.Itoa(len(tests))}
	for _, m := range tests {
		r.test(strings.TrimSpace(m[2]), m[1] != "" && m[3] == "")
	}
	return r
}

// jsonReport reads the JSON of jest, vitest (--json) and pytest (--json-report).
func jsonReport(text string) *report {
	at := strings.Index(text, "{")
	if at < 0 || !strings.Contains(text, `"assertionResults"`) && !strings.Contains(text, `"nodeid"`) {
		return nil
	}
	var root struct {
		Tests []struct {
			Name    string `json:"nodeid"`
			Outcome string `json:"outcome"`
		} `json:"tests"`
		Files []struct {
			Tests []struct {
				Name   string `json:"fullName"` //nolint:tagliatelle // as jest writes it
				Status string `json:"status"`
			} `json:"assertionResults"` //nolint:tagliatelle // as jest writes it
		} `json:"testResults"` //nolint:tagliatelle // as jest writes it
	}
	err := json.NewDecoder(strings.NewReader(text[at:])).Decode(&root)
	r := &report{whole: err == nil}
	for _, test := range root.Tests {
		r.test(test.Name, test.Outcome == "failed" || test.Outcome == "error")
	}
	for _, file := range root.Files {
		for _, test := range file.Tests {
			r.test(test.Name, test.Status == "failed")
		}
	}
	return r
}
