//! `profile --registers`: what the driver tells of each kernel's machine code. In: a model's kernels. Out: a line or a row of JSON for
//! each, under the driver's own names. Promise: no weights are touched and nothing runs; a driver that tells nothing is one line.

use super::commands::Call;
use super::open;
use super::out::Out;
use crate::error::Result;
use crate::executables::{Executable, executables};
use crate::recorder::on_all_cores;
use serde_json::{Map, Value, json};

/// A kernel of the program, in the form that the device runs.
struct Told {
    kernel: String,
    matrix: bool,
    executables: Vec<Executable>,
}

impl Call<'_> {
    pub fn registers(&self, as_json: bool, out: &mut Out) -> Result<()> {
        let device = open::telling(self.flags)?;
        let matrix = device.limits().matrix && !self.flags.no_matrix;
        let kernels: Vec<_> = self.setting.program.kernels.iter().zip(self.model.kernels).collect();
        let one = |i: usize| {
            let (kernel, forms) = kernels[i];
            let made = executables(&device, open::code(forms).form(matrix));
            let made = made.map_err(|e| e.at(format!("kernel '{}'", kernel.name)))?;
            Ok(Told { kernel: kernel.name.to_string(), matrix: matrix && forms.matrix.is_some(), executables: made })
        };
        let all = on_all_cores(kernels.len(), one)?;
        if as_json {
            let (model, device) = (&self.setting.program.name, &device.info().name);
            return out.json(
                &json!({"model": model, "device": device, "kernels": all.iter().map(Told::json).collect::<Vec<_>>()}),
            );
        }
        out.text(&all.iter().map(Told::text).collect::<String>())
    }
}

impl Told {
    /// A line for each executable.
    fn text(&self) -> String {
        let form = if self.matrix { " (matrix units)" } else { "" };
        let line = |e: &Executable| {
            let figures: Vec<String> = e.figures.iter().map(|(name, value)| format!("{name} {value}")).collect();
            format!("{}{form}: {}, subgroup {}: {}\n", self.kernel, e.name, e.subgroup, figures.join(", "))
        };
        self.executables.iter().map(line).collect()
    }

    fn json(&self) -> Value {
        let one = |e: &Executable| {
            let figures: Map<String, Value> = e.figures.iter().cloned().collect();
            json!({"name": e.name, "subgroup_size": e.subgroup, "statistics": figures})
        };
        let executables: Vec<Value> = self.executables.iter().map(one).collect();
        json!({"kernel": self.kernel, "matrix_units": self.matrix, "executables": executables})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_told_in_the_drivers_words() {
        let figures = vec![("Register Count".to_string(), json!(40)), ("Stack Size".to_string(), json!(0))];
        let executables = vec![Executable { name: "compute".into(), subgroup: 32, figures }];
        let told = Told { kernel: "matvec".into(), matrix: true, executables };
        assert_eq!(told.text(), "matvec (matrix units): compute, subgroup 32: Register Count 40, Stack Size 0\n");
        let json = told.json();
        assert_eq!(json["executables"][0]["statistics"], json!({"Register Count": 40, "Stack Size": 0}));
        assert_eq!((&json["kernel"], &json["matrix_units"]), (&json!("matvec"), &json!(true)));
    }
}
