package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sixthcopy/sixthcopy/systems"
)

// templates are the starts that init writes. Those in Go and YAML are compiled and loaded by tests as they are.
//
//go:embed templates
var templates embed.FS

// modulePath is this program's module.
const modulePath = "github.com/sixthcopy/sixthcopy"

// starts are what init can write, with the folder or file where it goes unless another is named.
var starts = map[string]string{"gate": ".", "system": "systems/mine", "workload": "."}

// languages are those of adapters: the file that is the adapter, and the kit that goes beside it.
var languages = map[string]struct{ file, kit, as string }{
	"go":         {"main.go", "", ""},
	"python":     {"adapter.py", "kit/python/sixthcopy_kit", "sixthcopy_kit"},
	"typescript": {"adapter.js", "kit/typescript", "sixthcopy-kit"},
}

func initCommand(c *console) *cobra.Command {
	var language string
	cmd := &cobra.Command{
		Use:   "init system|workload|gate [DIR]",
		Short: "Write a start that runs: an adapter, a workload or a CI policy",
		Long: `init writes a commented start that runs as it is:

system    a folder with system.yaml, an adapter and a README, in systems/mine
workload  my-workload.yaml: what a user asks for, and what may come of it
gate      gate.yaml: the limits that CI holds your systems against

It writes over nothing, and prints what it has written and the next command.`,
		Example: `  sixthcopy init system systems/my-client --language python
  sixthcopy init workload
  sixthcopy init gate`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usagef("usage: "+cmd.UseLine(), "%s takes system, workload or gate, and perhaps a folder, got %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			what := args[0]
			dir, known := starts[what]
			if !known {
				return unknown("start", what, sorted(starts))
			}
			if len(args) == 2 {
				dir = args[1]
			}
			if _, known := languages[language]; !known {
				return unknown("value of --language", language, sorted(languages))
			}
			if what != "system" && cmd.Flags().Changed("language") {
				return usagef("leave --language out", "--language is for init system; a %s is YAML", what)
			}
			switch what {
			case "system":
				return initSystem(c, dir, language)
			case "workload":
				return initWorkload(c, dir)
			}
			return initGate(c, dir)
		},
	}
	cmd.Flags().StringVar(&language, "language", "go", "go, python or typescript (JavaScript with checked types, without a build)")
	return cmd
}

func sorted[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// toWrite is what goes into a folder: text by path below it.
type toWrite map[string]string

// write writes all, or nothing if any of it is there. It says what it has written.
func (w toWrite) write(c *console, dir string) error {
	var taken []string
	for name := range w {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			taken = append(taken, filepath.Join(dir, name))
		}
	}
	if len(taken) > 0 {
		slices.Sort(taken)
		return usagef("name another folder", "%s is there already, and init writes over nothing", strings.Join(taken, ", "))
	}
	for _, name := range sorted(w) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return &ending{misused, err, "name a folder that can be made and written to"}
		}
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) // what came there meanwhile is not written over either
		if err == nil {
			_, err = f.WriteString(w[name])
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return &ending{misused, err, "name a folder that can be written to"}
		}
		fmt.Fprintln(c.out, "wrote", file)
	}
	return nil
}

// template is a start's text, with what stands in {{...}} filled in.
func template(name string, fill map[string]string) (string, error) {
	text, err := templates.ReadFile(path.Join("templates", name))
	if err != nil {
		return "", fmt.Errorf("template: %w", err)
	}
	filled := string(text)
	for key, value := range fill {
		filled = strings.ReplaceAll(filled, "{{"+key+"}}", value)
	}
	return filled, nil
}

var systemName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// initSystem writes a system's folder.
func initSystem(c *console, dir, language string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("folder of the system: %w", err)
	}
	name := filepath.Base(abs)
	if !systemName.MatchString(name) {
		return usagef("sixthcopy init system systems/my-client", "the folder's name is the system's: %q, expected lower-case letters, digits and single hyphens", name)
	}
	if files, err := os.ReadDir(dir); err == nil && len(files) > 0 {
		return usagef("name a new folder: sixthcopy init system "+quoted([]string{filepath.Join(filepath.Dir(dir), "another")}), "%s holds files already, and init writes over nothing", dir)
	}
	l, above := languages[language], filepath.Dir(filepath.Clean(dir))
	setup := ""
	if language == "go" {
		setup = quoted([]string{"sixthcopy", "setup", name, "--systems", above}) + "\n"
	}
	fill := map[string]string{"name": name, "file": l.file, "dir": quoted([]string{dir}), "above": quoted([]string{above}), "setup": setup}
	if language == "go" {
		fill["version"], fill["replace"] = kitModule(abs)
	}
	files := toWrite{}
	for from, to := range map[string]string{"README.md": "README.md", language + "/" + l.file: l.file, language + "/system.yaml": "system.yaml", "go/go.mod.txt": "go.mod"} {
		if to == "go.mod" && language != "go" {
			continue
		}
		if files[to], err = template(from, fill); err != nil {
			return err
		}
	}
	if l.kit != "" {
		err = fs.WalkDir(systems.Kits, l.kit, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(systems.Kits, p)
			files[l.as+strings.TrimPrefix(p, l.kit)] = string(text)
			return err
		})
		if err != nil {
			return fmt.Errorf("kit: %w", err)
		}
	}
	if err := files.write(c, dir); err != nil {
		return err
	}
	first := ""
	if strings.Contains(fill["replace"], noCheckout) {
		first = "put the path of a checkout of sixthcopy into " + filepath.Join(dir, "go.mod") + ": there the kit is\n"
	}
	fmt.Fprintf(c.out, "next:\n%s", indented(first+setup+
		quoted([]string{"sixthcopy", "check-system", dir})+"\n"+
		quoted([]string{"sixthcopy", "run", "--systems", above, "--system", name + "/default", "--system", name + "/with-key"})+"\n"))
	return nil
}

func indented(lines string) string {
	var s strings.Builder
	for line := range strings.Lines(lines) {
		s.WriteString("  " + line)
	}
	return s.String()
}

// noCheckout stands in a go.mod where nobody knows from where to take the kit.
const noCheckout = "/path/of/a/checkout/of/sixthcopy"

// kitModule says from where an adapter in Go takes the kit: from the checkout that this program was built in, or
// runs in, or by the version that it was built at.
func kitModule(dir string) (version, replace string) {
	for _, from := range []func() (string, error){os.Getwd, os.Executable} {
		at, err := from()
		if err != nil {
			continue
		}
		if at, err = filepath.EvalSymlinks(at); err != nil {
			continue
		}
		for ; ; at = filepath.Dir(at) {
			text, err := os.ReadFile(filepath.Join(at, "go.mod"))
			if err == nil && strings.HasPrefix(string(text), "module "+modulePath+"\n") {
				to := at
				if rel, err := filepath.Rel(dir, at); err == nil && strings.HasPrefix(dir, at+string(filepath.Separator)) {
					to = rel
				}
				return "v0.0.0", fmt.Sprintf("\nreplace %s => %s // the checkout of sixthcopy", modulePath, to)
			}
			if at == filepath.Dir(at) {
				break
			}
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path == modulePath && strings.HasPrefix(info.Main.Version, "v") && !strings.Contains(info.Main.Version, "+") {
		return info.Main.Version, ""
	}
	return "v0.0.0", fmt.Sprintf("\nreplace %s => %s", modulePath, noCheckout)
}

// initWorkload writes a workload file.
func initWorkload(c *console, dir string) error {
	text, err := template("workload/my-workload.yaml", nil)
	if err != nil {
		return err
	}
	if err := (toWrite{"my-workload.yaml": text}).write(c, dir); err != nil {
		return err
	}
	file := filepath.Join(dir, "my-workload.yaml")
	if dir == "." {
		file = "./my-workload.yaml"
	}
	fmt.Fprintf(c.out, "next:\n  %s\n", quoted([]string{"sixthcopy", "run", "--workload", file}))
	return nil
}

// initGate writes a policy that names the systems that are there.
func initGate(c *console, dir string) error {
	file := filepath.Join(dir, "gate.yaml")
	names, from := []string{"mine/default"}, filepath.Join(dir, "systems")
	manifests, err := systems.Load(from)
	if err == nil && len(manifests) > 0 {
		names = nil
		for _, m := range manifests {
			names = append(names, firstOf(m))
		}
	}
	list := ""
	for _, name := range names {
		list += "\n  - " + name
	}
	text, err := template("gate/gate.yaml", map[string]string{"file": quoted([]string{file}), "systems": list})
	if err != nil {
		return err
	}
	if err := (toWrite{"gate.yaml": text}).write(c, dir); err != nil {
		return err
	}
	next := quoted([]string{"sixthcopy", "gate", "--policy", file, "--systems", from})
	if len(manifests) == 0 {
		next = quoted([]string{"sixthcopy", "init", "system", filepath.Join(from, "mine")}) + "\n  " + next
	}
	fmt.Fprintf(c.out, "next:\n  %s\n", next)
	return nil
}

// firstOf is the name of a manifest's first system.
func firstOf(m systems.Manifest) string {
	if len(m.Variants) == 0 {
		return m.Name
	}
	return m.Name + "/" + m.Variants[0].Name
}
