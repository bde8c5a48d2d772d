# SPDX-License-Identifier: MIT
# A formula for Homebrew on Linux.
class Smallweb < Formula
  desc "Fetcher for Gemini, Gopher, Finger, Nex, Spartan, Git and HTTP"
  homepage "https://example.org/smallweb"
  url "https://example.org/smallweb/releases/download/0.2.0/smallweb-0.2.0-linux-x86_64.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license all_of: [
    "MIT",
    { "Apache-2.0" => { with: "Swift-exception" } },
    { "GPL-3.0-or-later" => { with: "GCC-exception-3.1" } },
  ]

  depends_on "patchelf" => :build
  depends_on arch: :x86_64
  depends_on "curl"
  depends_on "libidn2"
  depends_on :linux
  depends_on "openssl@3"
  depends_on "zlib"

  def install
    # What it opens when it is needed is Homebrew's.
    libraries = %w[curl libidn2 openssl@3 zlib].map { |name| Formula[name].opt_lib }
    system "patchelf", "--set-rpath", libraries.join(":"), "bin/smallweb"
    bin.install "bin/smallweb"
    man1.install Dir["share/man/man1/*"]
    man5.install Dir["share/man/man5/*"]
    man7.install Dir["share/man/man7/*"]
    doc.install Dir["share/doc/smallweb/*"]
    bash_completion.install "share/bash-completion/completions/smallweb.bash" => "smallweb"
    zsh_completion.install "share/zsh/site-functions/_smallweb"
    fish_completion.install "share/fish/vendor_completions.d/smallweb.fish"
    pkgshare.install Dir["share/smallweb/*"]
  end

  def caveats
    <<~TEXT
      Plugins that are programs are found where XDG_DATA_DIRS leads:
        export XDG_DATA_DIRS="#{HOMEBREW_PREFIX}/share:${XDG_DATA_DIRS:-/usr/local/share:/usr/share}"
    TEXT
  end

  test do
    assert_match "smallweb #{version}", shell_output("#{bin}/smallweb --version")
    assert_match "gemini", shell_output("#{bin}/smallweb schemes")
  end
end
