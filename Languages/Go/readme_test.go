package weir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// blockOf answers the first block of code of a language in the README.
func blockOf(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "```"+language+"\n")
	code, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatalf("README.md has no code in %s", language)
	}
	return code
}

// TestReadme runs the program in the README, in a module that imports this one as the README says.
func TestReadme(t *testing.T) {
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	source := "package main\n\nimport (\n\"fmt\"\n\"os\"\n\n\"weir\"\n)\n\nfunc run() error {\n" + blockOf(t, "go") +
		"}\n\nfunc main() {\nif err := run(); err != nil {\nfmt.Println(err)\nos.Exit(1)\n}\n}\n"
	err = os.WriteFile(filepath.Join(directory, "main.go"), []byte(source), 0o600)
	if err == nil {
		err = os.WriteFile(filepath.Join(directory, "go.mod"), []byte("module reads\n\ngo 1.19\n"), 0o600)
	}
	if err == nil {
		err = os.Rename(copyLog(t, "v1-damaged"), filepath.Join(directory, "events"))
	}
	if err != nil {
		t.Fatal(err)
	}
	commands := strings.ReplaceAll(blockOf(t, "sh"), "../weir/Languages/Go", here) + "go run ."
	run := exec.Command("sh", "-e", "-c", commands)
	run.Dir = directory
	var told strings.Builder
	run.Stderr = &told
	out, err := run.Output()
	all := read(t, filepath.Join(directory, "events"))
	events := len(regexp.MustCompile(`(?m)^\d+ [0-9a-f]{32} `).FindAll(out, -1))
	if err != nil || events != len(all.offsets) {
		t.Fatalf("%v, %d events, want %d: %s", err, events, len(all.offsets), told.String())
	}
	if strings.Count(told.String(), "\n") != len(all.skips) {
		t.Errorf("passed over: %s, want %+v", told.String(), all.skips)
	}
}
